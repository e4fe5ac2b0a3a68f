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
    /// Bytes of the node's text.
    depth: u32,
    /// The first of the strings that end with the node's text.
    ends: Option<u32>,
}

const ROOT: u32 = 0;

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
                node = automaton.child(node, byte).unwrap_or_else(|| automaton.grow(node, byte));
            }
            automaton.at_mut(node).ends.get_or_insert(index);
        }
        automaton.link();
        automaton
    }

    /// The node of a text that one of the strings begins with; of another, the node of its longest end that is one.
    #[must_use]
    pub fn node(&self, text: &[u8]) -> u32 {
        text.iter().fold(ROOT, |node, &byte| self.step(node, byte))
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

    /// Bytes at the end of the text with which a string begins that is longer.
    #[must_use]
    pub fn undecided(&self, mut node: u32) -> usize {
        while self.at(node).children.is_empty() && node != ROOT {
            node = self.at(node).link;
        }
        self.at(node).depth as usize
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

    fn grow(&mut self, node: u32, byte: u8) -> u32 {
        let new = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node { depth: self.at(node).depth + 1, ..Node::default() });
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
                let child_node = self.at_mut(child);
                child_node.link = target;
                child_node.ends = match (child_node.ends, inherited) {
                    (Some(own), Some(other)) => Some(own.min(other)),
                    (own, other) => own.or(other),
                };
                order.push(child);
            }
        }
    }
}
