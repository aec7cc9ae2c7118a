//! The search for the test, among those that a worker has run, that makes a later test go wrong.

/// Returns the position of the item that alone makes `reproduces` true.
///
/// `reproduces` is called with adjacent items of `history`. The search doubles their number from the last item on,
/// since most causes are near, and then halves the part that must hold the cause. Returns `None` if no
/// item alone reproduces the effect, and as soon as `reproduces` returns `None`.
pub fn find<T>(history: &[T], mut reproduces: impl FnMut(&[T]) -> Option<bool>) -> Option<usize> {
    let (mut size, mut end) = (1, history.len());
    let mut begin = loop {
        let begin = history.len().saturating_sub(size);
        if begin == end {
            return None;
        }
        if reproduces(&history[begin..])? {
            break begin;
        }
        (size, end) = (2 * size, begin);
    };
    let mut has_shown_it_alone = size == 1;
    while end - begin > 1 {
        let middle = begin + (end - begin) / 2;
        let reproduced = reproduces(&history[begin..middle])?;
        has_shown_it_alone = reproduced && middle - begin == 1;
        (begin, end) = if reproduced { (begin, middle) } else { (middle, end) };
    }
    (has_shown_it_alone || reproduces(&history[begin..end])?).then_some(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the culprit if the items `causes` must be there together, and the sizes of the parts that were tried.
    fn search(length: usize, causes: &[usize]) -> (Option<usize>, Vec<usize>) {
        let history: Vec<usize> = (0..length).collect();
        let mut tried = Vec::new();
        let found = find(&history, |part| {
            tried.push(part.len());
            Some(causes.iter().all(|cause| part.contains(cause)))
        });
        (found, tried)
    }

    #[test]
    fn each_single_cause_is_found() {
        for length in 1..40 {
            for cause in 0..length {
                let (found, tried) = search(length, &[cause]);
                assert_eq!(found, Some(cause), "of {length}");
                assert!(tried.len() <= 13, "{tried:?}");
            }
        }
    }

    #[test]
    fn the_last_item_is_tried_alone_and_first() {
        assert_eq!(search(30, &[29]), (Some(29), vec![1]));
        assert_eq!(search(30, &[28]), (Some(28), vec![1, 2, 1]));
    }

    #[test]
    fn no_item_is_found_if_none_alone_reproduces_the_effect() {
        assert_eq!(search(0, &[]).0, None);
        let (found, tried) = search(5, &[7]);
        assert_eq!((found, tried), (None, vec![1, 2, 4, 5]));
        assert_eq!(search(30, &[3, 20]).0, None);
    }

    #[test]
    fn the_search_ends_early() {
        let mut tried = 0;
        let found = find(&[1, 2, 3, 4], |_| {
            tried += 1;
            (tried < 3).then_some(false)
        });
        assert_eq!((found, tried), (None, 3));
    }
}
