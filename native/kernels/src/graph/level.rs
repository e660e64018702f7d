//! What nodes are moved in: the graph itself, or a level, in which a node stands for several connected nodes of it.

use super::adjacency::{Graph, Link};
use super::rank;

/// Nodes and their edges, as moving them needs it.
pub(super) trait Network {
    /// How many there are, empty slots included.
    fn nodes(&self) -> usize;
    /// How many nodes of the graph one stands for.
    fn size(&self, node: u32) -> u64;
    /// Whether a node may change its community.
    fn moves(&self, node: u32) -> bool;
    /// The edges of a node, no loops.
    fn links(&self, node: u32) -> &[Link];
    /// Sort nodes into the order in which they are worked through.
    fn sort(&self, nodes: &mut [u32]);
}

/// The graph in the order of a seed.
pub(super) struct Seeded<'a> {
    pub graph: &'a Graph,
    pub seed: u64,
}

impl Network for Seeded<'_> {
    fn nodes(&self) -> usize {
        self.graph.keys.len()
    }

    fn size(&self, _: u32) -> u64 {
        1
    }

    fn moves(&self, _: u32) -> bool {
        true
    }

    fn links(&self, node: u32) -> &[Link] {
        &self.graph.links[node as usize]
    }

    fn sort(&self, nodes: &mut [u32]) {
        nodes.sort_by_cached_key(|node| rank(self.seed, self.graph.keys[*node as usize]));
    }
}

/// Part of the graph, or parts of it that stand for several nodes each; the order of the numbers is that of the work.
///
/// The first nodes may stand for whole communities that stay as they are: other nodes may join them.
pub(super) struct Level {
    /// Where the edges of each node begin in `links`, and where the last one's end.
    starts: Vec<usize>,
    links: Vec<Link>,
    sizes: Vec<u64>,
    /// How many of the first nodes do not move.
    fixed: usize,
}

impl Network for Level {
    fn nodes(&self) -> usize {
        self.sizes.len()
    }

    fn size(&self, node: u32) -> u64 {
        self.sizes[node as usize]
    }

    fn moves(&self, node: u32) -> bool {
        node as usize >= self.fixed
    }

    fn links(&self, node: u32) -> &[Link] {
        &self.links[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    fn sort(&self, nodes: &mut [u32]) {
        nodes.sort_unstable();
    }
}

/// The nodes of a level taken together in blocks, each connected and within one community.
pub(super) struct Blocks {
    /// The block of each node, numbered by their first nodes.
    pub of: Vec<u32>,
    /// How many there are.
    pub count: usize,
}

impl Level {
    /// Some slots of the graph, in their order, and before them a node for each other community that they have edges
    /// to, ascending; these communities are returned. The edges between two of those are left out.
    pub fn around(graph: &Graph, slots: &[u32], communities: &[u32], sizes: &[u64]) -> (Self, Vec<u32>) {
        const NONE: u32 = u32::MAX;
        let mut at = vec![NONE; graph.keys.len()];
        for (place, slot) in slots.iter().enumerate() {
            at[*slot as usize] = place as u32;
        }
        let links_of = |slot: &u32| &graph.links[*slot as usize];
        let outside = |link: &&Link| at[link.to as usize] == NONE;
        let mut beside = vec![0_usize; sizes.len()];
        let mut fixed = Vec::new();
        for link in slots.iter().flat_map(links_of).filter(outside) {
            let community = communities[link.to as usize];
            if beside[community as usize] == 0 {
                fixed.push(community);
            }
            beside[community as usize] += 1;
        }
        fixed.sort_unstable();
        let mut starts = Vec::with_capacity(fixed.len() + slots.len() + 1);
        let mut end = 0;
        for count in fixed.iter().map(|community| beside[*community as usize]) {
            starts.push(end);
            end += count;
        }
        for slot in slots {
            starts.push(end);
            end += links_of(slot).len();
        }
        starts.push(end);
        let mut fixed_at = vec![NONE; if fixed.is_empty() { 0 } else { sizes.len() }];
        for (place, community) in fixed.iter().enumerate() {
            fixed_at[*community as usize] = place as u32;
        }
        let mut links = vec![Link { to: 0, units: 0 }; end];
        let mut filled = starts.clone();
        for (place, slot) in slots.iter().enumerate() {
            let own = fixed.len() + place;
            for link in links_of(slot) {
                let to = if outside(&link) {
                    let to = fixed_at[communities[link.to as usize] as usize];
                    links[filled[to as usize]] = Link { to: own as u32, units: link.units };
                    filled[to as usize] += 1;
                    to
                } else {
                    at[link.to as usize] + fixed.len() as u32
                };
                links[filled[own]] = Link { to, units: link.units };
                filled[own] += 1;
            }
        }
        let stood_for = fixed.iter().map(|community| sizes[*community as usize]);
        let sizes = stood_for.chain(slots.iter().map(|_| 1)).collect();
        (Self { starts, links, sizes, fixed: fixed.len() }, fixed)
    }

    /// The nodes that may move, in their order.
    pub fn movable(&self) -> Vec<u32> {
        (self.fixed as u32..self.sizes.len() as u32).collect()
    }

    /// The level whose nodes are the blocks of this one; those that hold a fixed node are the first, and are fixed.
    pub fn aggregated(&self, blocks: &Blocks, sums: &mut Sums) -> Self {
        let mut ends = vec![0_usize; blocks.count + 1];
        let mut sizes = vec![0; blocks.count];
        for (size, block) in self.sizes.iter().zip(&blocks.of) {
            ends[*block as usize + 1] += 1;
            sizes[*block as usize] += size;
        }
        for block in 0..blocks.count {
            ends[block + 1] += ends[block];
        }
        let mut filled = ends.clone();
        let mut members = vec![0_u32; self.sizes.len()];
        for (node, block) in blocks.of.iter().enumerate() {
            members[filled[*block as usize]] = node as u32;
            filled[*block as usize] += 1;
        }
        let (mut starts, mut links) = (Vec::with_capacity(blocks.count + 1), Vec::new());
        for (block, bounds) in ends.windows(2).enumerate() {
            starts.push(links.len());
            for link in members[bounds[0]..bounds[1]].iter().flat_map(|node| self.links(*node)) {
                let to = blocks.of[link.to as usize];
                if to as usize != block {
                    sums.add(to, link.units);
                }
            }
            links.extend(sums.all().map(|(to, units)| Link { to, units }));
            sums.clear();
        }
        starts.push(links.len());
        Self { starts, links, sizes, fixed: self.fixed }
    }
}

/// Sums of weights by community or block, of which few are not 0.
pub(super) struct Sums {
    units: Vec<i64>,
    seen: Vec<u32>,
}

impl Sums {
    /// Room for so many communities.
    pub fn new(count: usize) -> Self {
        Self { units: vec![0; count], seen: Vec::new() }
    }

    /// Add a weight, which is not 0.
    #[inline]
    pub fn add(&mut self, to: u32, units: i64) {
        let sum = &mut self.units[to as usize];
        if *sum == 0 {
            self.seen.push(to);
        }
        *sum += units;
    }

    /// The sum of one.
    #[inline]
    pub fn of(&self, to: u32) -> i64 {
        self.units[to as usize]
    }

    /// All that are not 0, in the order of their first weights.
    #[inline]
    pub fn all(&self) -> impl Iterator<Item = (u32, i64)> + '_ {
        self.seen.iter().map(|to| (*to, self.units[*to as usize]))
    }

    /// All are 0 again.
    #[inline]
    pub fn clear(&mut self) {
        for to in self.seen.drain(..) {
            self.units[to as usize] = 0;
        }
    }
}
