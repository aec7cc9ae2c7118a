//! Commands with any arguments, and tables of calls.

use super::prelude::*;

/// The arguments that all commands have.
pub struct Common {
    pub queue: cl_command_queue,
    /// The length of the wait list.
    pub count: cl_uint,
    /// The wait list.
    pub events: *const cl_event,
}

impl Common {
    /// The arguments of a command on `queue` without a wait list.
    pub fn new(queue: cl_command_queue) -> Self {
        Self { queue, count: 0, events: ptr::null() }
    }
}

/// A command, whether its arguments are valid or not.
pub trait Command {
    /// The arguments that all commands have.
    fn common(&mut self) -> &mut Common;

    /// Enqueues the command.
    fn enqueue(&mut self) -> Answer<cl_event>;

    /// Enqueues the command, waits for it, and returns the code of the call.
    fn code(&mut self) -> cl_int {
        code(self.enqueue().map(|event| {
            // The code of the call counts, not the fate of the command.
            _ = wait_for_events(&[event]);
            // SAFETY: nothing else has the event.
            _ = unsafe { release_event(event) };
        }))
    }

    /// Enqueues a valid command, and releases its event.
    #[track_caller]
    fn succeed(&mut self) {
        let event = self.enqueue().expect("a valid command");
        // SAFETY: nothing else has the event.
        unsafe { release_event(event) }.expect("the driver releases its event");
    }
}

/// The direction of a command between an object and other memory.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    Read,
    Write,
}

/// Declares a command: its arguments behind the queue, each with a valid value, and the call.
macro_rules! command {
    (
        $(#[$attribute:meta])*
        $name:ident($on:ident: &$On:ident $(, $direction:ident)?) {
            $($argument:ident: $type:ty = $valid:expr,)*
        }
        unsafe |$c:ident| $enqueue:expr
    ) => {
        $(#[$attribute])*
        pub struct $name {
            pub common: Common,
            $(pub $direction: Direction,)?
            $(pub $argument: $type,)*
        }

        impl $name {
            pub fn valid($on: &$On $(, $direction: Direction)?) -> Self {
                Self { common: Common::new($on.queue()), $($direction,)? $($argument: $valid,)* }
            }
        }

        impl Command for $name {
            fn common(&mut self) -> &mut Common {
                &mut self.common
            }

            fn enqueue(&mut self) -> Answer<cl_event> {
                let $c = self;
                // SAFETY: the declaration has the facts.
                unsafe { $enqueue }
            }
        }
    };
}

/// Calls a function with the queue of a command, these arguments, and the wait list of the command.
macro_rules! call {
    ($c:ident, $function:ident($($argument:expr),* $(,)?)) => {
        $function($c.common.queue, $($argument,)* $c.common.count, $c.common.events)
    };
}

/// Declares a test of a call, in both directions if it has them: a case for each change of the
/// valid call, with the code that OpenCL names. The test has the codes of which all cases have one.
macro_rules! cases {
    (
        $(#[$attribute:meta])*
        fn $name:ident($on:ident: $On:ident, $c:ident: $Call:ident $(, $direction:ident)?)
        $(=> $of_all:tt)?;
        $($case:ident($($change:tt)*) $(=> $named:ident)?;)*
    ) => {
        #[rstest::rstest]
        $(#[case::$case(
            |$on: &$On, $c: &mut $Call| {
                // Few cases use it.
                _ = $on;
                { $($change)* }
                $c.code()
            },
            &[$($named)?]
        )])*
        $(#[$attribute])*
        fn $name(
            $on: $On,
            $(#[values(Direction::Read, Direction::Write)] $direction: Direction,)?
            #[case] code: fn(&$On, &mut $Call) -> cl_int,
            #[case] named: &[cl_int],
        ) {
            let mut call = $Call::valid(&$on $(, $direction)?);
            assert_one_of(code(&$on, &mut call), &[named $(, &$of_all)?].concat());
        }
    };
}

pub(crate) use {call, cases, command};

/// Changes a valid command, and checks the code of the call.
#[track_caller]
pub fn check<C: Command>(mut command: C, change: impl FnOnce(&mut C), expected: cl_int) {
    change(&mut command);
    assert_code(command.code(), expected);
}

/// The pointer to an origin, a region or a pattern; null for `None`.
pub fn pointer<T, P>(argument: &Option<T>) -> *const P {
    argument.as_ref().map_or(ptr::null(), |argument| ptr::from_ref(argument).cast())
}

/// The pointer to the place of an answer; null for `None`.
pub fn place<T>(answer: &mut Option<T>) -> *mut T {
    answer.as_mut().map_or(ptr::null_mut(), ptr::from_mut)
}
