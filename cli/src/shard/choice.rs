//! The option that selects a shard.

use std::num::NonZeroU32;
use std::str::FromStr;

use clmatrix_runner::shard::Shard;

/// The value of `--shard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardChoice {
    /// The shard that the environment variables of an [`Engine`](clmatrix_runner::shard::Engine) name.
    Auto,
    /// This shard.
    Given(Shard),
}

impl FromStr for ShardChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected `auto` or INDEX/TOTAL, with an INDEX from 1 to TOTAL";
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let (index, total) = text.split_once('/').ok_or(EXPECTED)?;
        let index: NonZeroU32 = index.parse().map_err(|_| EXPECTED)?;
        let total = total.parse().map_err(|_| EXPECTED)?;
        Shard::from_zero(index.get() - 1, total).map(Self::Given).ok_or(EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clmatrix_runner::shard::ShardRule;

    #[test]
    fn a_shard_is_an_index_from_1_and_a_total() {
        assert_eq!("auto".parse(), Ok(ShardChoice::Auto));
        let given =
            |index, total| Ok(ShardChoice::Given(Shard { index, total, rule: ShardRule::Hash }));
        assert_eq!("1/1".parse(), given(1, 1));
        assert_eq!("8/8".parse(), given(8, 8));
        for wrong in ["", "0/8", "9/8", "1/0", "0/0", "1", "1/", "/8", "-1/8", "1/8/2", "Auto"] {
            assert!(wrong.parse::<ShardChoice>().is_err(), "{wrong:?}");
        }
    }
}
