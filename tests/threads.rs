//! The first OpenCL calls of a process, in a process of their own.

use std::sync::Barrier;
use std::thread;

#[test]
fn the_first_calls_may_come_from_several_threads() {
    const THREADS: usize = 4;
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        let begin = || {
            barrier.wait();
            clmatrix::create_some_context().map(drop)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(begin)).collect();
        for thread in threads {
            thread.join().expect("no panic").expect("a context");
        }
    });
}
