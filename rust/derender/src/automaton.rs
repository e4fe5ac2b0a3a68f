//! Finds many strings in one pass over a text (Aho and Corasick, 1975), and tells how much of its end may still become
//! one of them, for which the `aho-corasick` crate has no answer.

/// A trie of the strings with links from each node to the longest proper end of its text that is a node too.
#[derive(Debug)]
pub struct Automaton {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    /// The nodes one byte further, by that byte, in its order.
    children: Vec<(u8, u32)>,
    link: u32,
    /// One of the strings that begin with the node's text.
    string: u32,
    /// Bytes of the node's text.
    depth: u32,
    /// The longest end of the node's text with which a longer string begins, as a node.
    open: u32,
    /// The first of the strings that end with the node's text.
    ends: Option<u32>,
}

/// The node of the empty text.
pub const ROOT: u32 = 0;

impl Default for Automaton {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

impl Automaton {
    /// An automaton of these strings. Takes time and memory in proportion to their bytes.
    #[must_use]
    pub fn new<'t>(strings: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut automaton = Self::default();
        for (index, string) in (0..).zip(strings) {
            let mut node = ROOT;
            for &byte in string {
                node = automaton.child(node, byte).unwrap_or_else(|| automaton.grow(node, byte, index));
            }
            automaton.at_mut(node).ends.get_or_insert(index);
        }
        automaton.link();
        automaton
    }

    /// The node behind one more byte.
    #[must_use]
    pub fn step(&self, mut node: u32, byte: u8) -> u32 {
        loop {
            match self.child(node, byte) {
                Some(next) => return next,
                None if node == ROOT => return ROOT,
                None => node = self.at(node).link,
            }
        }
    }

    /// The first of the strings that end here, by its place among them.
    #[must_use]
    pub fn ends(&self, node: u32) -> Option<u32> {
        self.at(node).ends
    }

    /// The longest end of a node's text with which a longer string begins.
    #[must_use]
    pub fn open(&self, node: u32) -> u32 {
        self.at(node).open
    }

    /// A node's text: that of the string at the first number, up to the second, in bytes. None: there is no such node.
    #[must_use]
    pub fn text(&self, node: u32) -> Option<(u32, usize)> {
        self.nodes.get(node as usize).map(|node| (node.string, node.depth as usize))
    }

    fn at(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    fn at_mut(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    fn child(&self, node: u32, byte: u8) -> Option<u32> {
        let children = &self.at(node).children;
        children.binary_search_by_key(&byte, |child| child.0).ok().map(|at| children[at].1)
    }

    fn grow(&mut self, node: u32, byte: u8, string: u32) -> u32 {
        let new = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node { depth: self.at(node).depth + 1, string, ..Node::default() });
        let children = &mut self.at_mut(node).children;
        let at = children.partition_point(|child| child.0 < byte);
        children.insert(at, (byte, new));
        new
    }

    /// Sets the links, nearest nodes first: a link leads to a node that is nearer.
    fn link(&mut self) {
        let mut order = vec![ROOT];
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            let Node { link, ref children, .. } = *self.at(node);
            for (byte, child) in children.clone() {
                let target = if node == ROOT { ROOT } else { self.step(link, byte) };
                let inherited = self.at(target).ends;
                let open_of_target = self.at(target).open;
                let child_node = self.at_mut(child);
                child_node.link = target;
                child_node.open = if child_node.children.is_empty() { open_of_target } else { child };
                child_node.ends = match (child_node.ends, inherited) {
                    (Some(own), Some(other)) => Some(own.min(other)),
                    (own, other) => own.or(other),
                };
                order.push(child);
            }
        }
    }
}
