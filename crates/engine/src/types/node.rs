//! Nodes of graphs.

/// Number of a node in a graph. A graph numbers its nodes itself, so a node is not the row that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Node(u32);

impl Node {
    /// The node of that number.
    #[inline(always)]
    pub const fn new(number: u32) -> Node {
        Node(number)
    }

    /// Its number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Its number as a place in a list that has an entry for each node.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
