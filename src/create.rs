//! Calls of the driver that return an object, and an error code by their last argument.

use cl3::error_codes::{CL_SUCCESS, DLOPEN_FUNCTION_NOT_AVAILABLE, DLOPEN_RUNTIME_LOAD_FAILED};
use cl3::{OpenClRuntime, load_library};

/// Calls a C function without its last argument, and returns the object or the code. The code begins as
/// [`NO_CODE`](crate::error::NO_CODE), and in cl3's functions as an error that the driver then seems to return.
///
/// With the type of a reference, takes over the reference to a new object, and returns an error that names the
/// function.
macro_rules! create {
    ($reference:ident, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: `checked` returned a new object, whose one reference nothing else has.
        $crate::create::create!($function($($argument),*))
            .map(|raw| $crate::handle::$reference::owned(raw))
            .map_err($crate::error::in_call(stringify!($function)))
    };
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut code = $crate::error::NO_CODE;
        $crate::create::loaded().and_then(|loader| {
            let object = loader.$function($($argument,)* &raw mut code);
            $crate::create::checked(object, code)
        })
    }};
}

pub(crate) use create;

/// Returns the functions of the loader.
///
/// # Safety
/// The caller calls a function with valid handles, and with pointers to as much as the function uses.
pub(crate) unsafe fn loaded() -> Result<&'static OpenClRuntime, i32> {
    load_library().as_ref().map_err(|_| DLOPEN_RUNTIME_LOAD_FAILED)
}

/// Returns the object of a call that wrote `code`.
pub(crate) fn checked<T>(object: Option<T>, code: i32) -> Result<T, i32> {
    match object {
        Some(object) if code == CL_SUCCESS => Ok(object),
        Some(_) => Err(code),
        None => Err(DLOPEN_FUNCTION_NOT_AVAILABLE),
    }
}

#[cfg(test)]
mod tests {
    use cl3::error_codes::CL_INVALID_VALUE;

    use super::*;
    use crate::error::{NO_CODE, in_call};

    #[test]
    fn a_call_succeeds_with_an_object_and_a_code() {
        assert_eq!(checked(Some(1), CL_SUCCESS), Ok(1));
        assert_eq!(checked(Some(1), CL_INVALID_VALUE), Err(CL_INVALID_VALUE));
        assert_eq!(checked(None::<u8>, NO_CODE), Err(DLOPEN_FUNCTION_NOT_AVAILABLE));
        let error = checked(Some(1), NO_CODE).map_err(in_call("clCreateSampler")).unwrap_err();
        let text = "clCreateSampler: NO_ERROR_CODE (-2002): the driver wrote no error code";
        assert_eq!(error.to_string(), text);
    }
}
