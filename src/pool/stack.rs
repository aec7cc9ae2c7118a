//! Stacks that are linked through what lies on them: to take the top, nothing else needs to be in the
//! processor's cache.

/// Something that can lie on a stack.
pub(super) trait Linked: Sized {
    /// What lies below it there.
    fn below(&mut self) -> &mut Option<Self>;
}

/// What came last goes first.
#[derive(Debug)]
pub(super) struct Stack<B: Linked>(Option<B>);

impl<B: Linked> Default for Stack<B> {
    fn default() -> Self {
        Self(None)
    }
}

impl<B: Linked> Stack<B> {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    #[inline]
    pub fn push(&mut self, mut block: B) {
        *block.below() = self.0.take();
        self.0 = Some(block);
    }

    /// The top, if it is one like this.
    #[inline]
    pub fn pop_if(&mut self, is_one: impl FnOnce(&B) -> bool) -> Option<B> {
        let mut block = self.0.take_if(|top| is_one(top))?;
        self.0 = block.below().take();
        Some(block)
    }

    /// Takes out all that are like this.
    pub fn extract(&mut self, is_one: impl Fn(&B) -> bool, out: &mut Vec<B>) {
        let mut link = &mut self.0;
        loop {
            while let Some(mut block) = link.take_if(|block| is_one(block)) {
                *link = block.below().take();
                out.push(block);
            }
            match link {
                Some(block) => link = block.below(),
                None => break,
            }
        }
    }
}

impl<B: Linked> Iterator for Stack<B> {
    type Item = B;

    fn next(&mut self) -> Option<B> {
        self.pop_if(|_| true)
    }
}

/// One after the other: each would drop the next within its own drop.
impl<B: Linked> Drop for Stack<B> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
