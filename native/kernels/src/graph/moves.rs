//! Moving nodes one by one to the community where they gain most, until none of those that may gain anything is left.

use super::level::{Network, Sums};
use super::Resolution;

/// Which community each node is in. Numbers of communities are used again once they are empty.
#[derive(Clone)]
pub(super) struct Communities {
    /// Of each node.
    pub of: Vec<u32>,
    /// How many nodes of the graph each holds.
    pub sizes: Vec<u64>,
    /// Those that hold none.
    empty: Vec<u32>,
}

impl Communities {
    /// Communities of some sizes, none of them 0.
    pub fn new(of: Vec<u32>, sizes: Vec<u64>) -> Self {
        Self { of, sizes, empty: Vec::new() }
    }

    /// The number of an empty one.
    pub fn fresh(&mut self) -> u32 {
        self.empty.pop().unwrap_or_else(|| {
            self.sizes.push(0);
            self.sizes.len() as u32 - 1
        })
    }

    /// Put a node, of so many nodes of the graph, into another community.
    pub fn place(&mut self, node: u32, size: u64, to: u32) {
        let from = std::mem::replace(&mut self.of[node as usize], to);
        self.sizes[from as usize] -= size;
        self.sizes[to as usize] += size;
        if self.sizes[from as usize] == 0 {
            self.empty.push(from);
        }
    }
}

/// Move nodes, and those beside what moved, as long as that adds to the quality.
///
/// Each round takes the nodes that wait in the order of the network. Of equal gains staying comes first, then the
/// community of the lowest number; a node that would gain most alone gets a community of its own. One that moved has
/// its neighbours outside its new community wait for the next round, as in Traag, Waltman and Van Eck 2019.
/// Returns of each move the community that was left and the one that was joined.
pub(super) fn move_nodes(
    network: &impl Network,
    communities: &mut Communities,
    sums: &mut Sums,
    resolution: Resolution,
    mut round: Vec<u32>,
) -> Vec<[u32; 2]> {
    let mut waiting = vec![false; network.nodes()];
    for node in &round {
        waiting[*node as usize] = true;
    }
    let (mut next, mut moved) = (Vec::new(), Vec::new());
    while !round.is_empty() {
        network.sort(&mut round);
        for node in round.drain(..) {
            waiting[node as usize] = false;
            let links = network.links(node);
            for link in links {
                sums.add(communities.of[link.to as usize], link.units);
            }
            let (from, size) = (communities.of[node as usize], network.size(node));
            let others = communities.sizes[from as usize] - size;
            let (mut to, mut best) = (from, resolution.gain(sums.of(from), size, others));
            for (community, units) in sums.all().filter(|(community, _)| *community != from) {
                let gain = resolution.gain(units, size, communities.sizes[community as usize]);
                if gain > best || (gain == best && to != from && community < to) {
                    (to, best) = (community, gain);
                }
            }
            sums.clear();
            if best < 0 {
                to = communities.fresh();
            }
            if to != from {
                communities.place(node, size, to);
                moved.push([from, to]);
                for link in links {
                    let beside = link.to;
                    let apart = communities.of[beside as usize] != to;
                    if apart && network.moves(beside) && !std::mem::replace(&mut waiting[beside as usize], true) {
                        next.push(beside);
                    }
                }
            }
        }
        std::mem::swap(&mut round, &mut next);
    }
    moved
}
