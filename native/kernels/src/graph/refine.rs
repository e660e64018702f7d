//! Finding the blocks within communities that hold together, which are moved as one at the next level.

use super::level::{Blocks, Level, Network, Sums};
use super::moves::Communities;
use super::Resolution;

/// The refinement of Traag, Waltman and Van Eck 2019 (Scientific Reports 9:5233): within each community, nodes that are
/// well connected to the rest of it join blocks that are as well, each the one where it gains most.
///
/// A block is joined over an edge, so each is connected. Theirs is drawn at random among all gains; the best one makes
/// the same guarantee and needs no exponential function, whose last digit differs between machines.
pub(super) fn refine(level: &Level, communities: &Communities, sums: &mut Sums, resolution: Resolution) -> Blocks {
    let count = level.nodes();
    let inside = |node: u32, to: u32| communities.of[node as usize] == communities.of[to as usize];
    // Of each block the weight to the rest of its community, how many nodes of the graph it holds, and whether it has
    // more than one node of the level.
    let mut cuts: Vec<i64> = (0..count as u32)
        .map(|node| level.links(node).iter().filter(|link| inside(node, link.to)).map(|link| link.units).sum())
        .collect();
    let mut sizes: Vec<u64> = (0..count as u32).map(|node| level.size(node)).collect();
    let mut joined = vec![false; count];
    let mut of: Vec<u32> = (0..count as u32).collect();
    for node in 0..count as u32 {
        let whole = communities.sizes[communities.of[node as usize] as usize];
        let holds = |cut: i64, size: u64| resolution.gain(cut, size, whole - size) >= 0;
        let (own, size) = (cuts[node as usize], level.size(node));
        if joined[node as usize] || own == 0 || !holds(own, size) {
            continue;
        }
        for link in level.links(node).iter().filter(|link| inside(node, link.to)) {
            sums.add(of[link.to as usize], link.units);
        }
        let mut best = None;
        for (block, units) in sums.all() {
            let gain = resolution.gain(units, size, sizes[block as usize]);
            let better = best.is_none_or(|(known, most, _)| gain > most || (gain == most && block < known));
            if gain >= 0 && better && holds(cuts[block as usize], sizes[block as usize]) {
                best = Some((block, gain, units));
            }
        }
        sums.clear();
        if let Some((block, _, units)) = best {
            of[node as usize] = block;
            joined[block as usize] = true;
            sizes[block as usize] += size;
            cuts[block as usize] += own - 2 * units;
        }
    }
    numbered(of)
}

/// Give each connected part of a community a community of its own; the first keeps the number.
pub(super) fn split(level: &Level, communities: &mut Communities) {
    let mut seen = vec![false; level.nodes()];
    let mut kept = vec![false; communities.sizes.len()];
    let mut part = Vec::new();
    for first in 0..level.nodes() as u32 {
        if std::mem::replace(&mut seen[first as usize], true) {
            continue;
        }
        let community = communities.of[first as usize];
        part.push(first);
        let mut at = 0;
        while at < part.len() {
            for link in level.links(part[at]) {
                let same = communities.of[link.to as usize] == community;
                if same && !std::mem::replace(&mut seen[link.to as usize], true) {
                    part.push(link.to);
                }
            }
            at += 1;
        }
        if std::mem::replace(&mut kept[community as usize], true) {
            let own = communities.fresh();
            for node in &part {
                communities.place(*node, level.size(*node), own);
            }
        }
        part.clear();
    }
}

/// Blocks numbered in the order of their first nodes.
fn numbered(mut of: Vec<u32>) -> Blocks {
    let mut numbers = vec![u32::MAX; of.len()];
    let mut count = 0;
    for block in &mut of {
        let number = &mut numbers[*block as usize];
        if *number == u32::MAX {
            *number = count;
            count += 1;
        }
        *block = *number;
    }
    Blocks { of, count: count as usize }
}
