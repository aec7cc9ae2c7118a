use super::*;

#[derive(Debug, PartialEq, Eq)]
struct Link {
    number: usize,
    below: Option<Box<Self>>,
}

impl Linked for Box<Link> {
    fn below(&mut self) -> &mut Option<Self> {
        &mut self.below
    }
}

fn stack(numbers: std::ops::Range<usize>) -> Stack<Box<Link>> {
    let mut stack = Stack::default();
    numbers.for_each(|number| stack.push(Box::new(Link { number, below: None })));
    stack
}

fn numbers(links: impl IntoIterator<Item = Box<Link>>) -> Vec<usize> {
    let number = |link: Box<Link>| {
        assert_eq!(link.below, None, "it lies on the stack no more");
        link.number
    };
    links.into_iter().map(number).collect()
}

#[test]
fn what_came_last_goes_first_if_it_is_wanted() {
    let mut stack = stack(0..3);
    assert_eq!(stack.pop_if(|link| link.number == 1), None);
    assert_eq!(numbers(stack.pop_if(|link| link.number == 2)), [2]);
    assert_eq!(numbers(stack), [1, 0]);
}

#[test]
fn what_is_extracted_leaves_the_others_in_their_order() {
    for divisor in 1..5 {
        let (mut stack, mut extracted) = (stack(0..10), vec![]);
        stack.extract(|link| link.number.is_multiple_of(divisor), &mut extracted);
        let (out, left): (Vec<_>, Vec<_>) =
            (0..10).rev().partition(|number: &usize| number.is_multiple_of(divisor));
        assert_eq!((numbers(extracted), numbers(stack)), (out, left));
    }
}

#[test]
fn a_high_one_is_dropped_without_much_of_the_threads_stack() {
    drop(stack(0..1_000_000));
}
