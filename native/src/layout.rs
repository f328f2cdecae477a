//! Lays points out on a plane, so that points with similar vectors lie close together: principal components, then the
//! method of UMAP (arxiv.org/abs/1802.03426) with exact neighbours. Points that already have a place keep it. Equal
//! input gives equal output.

/// Number of principal components that distances are computed from.
const COMPONENTS: usize = 20;
/// Number of rounds of the subspace iteration that finds the principal components.
const ROUNDS: usize = 6;
/// Number of neighbours that attract a point.
const NEIGHBOURS: usize = 15;
/// Number of random points that repel a point per attraction.
const REPULSIONS: usize = 5;
/// Number of rounds in which points are moved: for at most `FEW_POINTS` points, and for more.
const EPOCHS_OF_FEW: usize = 300;
const EPOCHS: usize = 150;
const FEW_POINTS: usize = 2_000;
/// Half the width of the plane while points move.
const SPREAD: f32 = 10.0;
/// UMAP's parameters a and b of the attraction curve, as it fits them for a minimum distance of 0.1.
const A: f32 = 1.577;
const B: f32 = 0.895;

/// Returns a place in −1..1 for each row of `vectors` (`known.len()` rows of `dimensions` components).
/// `known` has the places that stay; `None` for points without one.
pub fn layout(vectors: &[f32], dimensions: usize, known: &[Option<(f32, f32)>]) -> Vec<(f32, f32)> {
    let count = known.len();
    if count < 3 {
        let apart = |at: usize| if count == 1 { (0.0, 0.0) } else { (at as f32 - 0.5, 0.0) };
        return known.iter().enumerate().map(|(at, place)| place.unwrap_or_else(|| apart(at))).collect();
    }
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let reduced = components(vectors, dimensions, count, &mut random);
    let width = COMPONENTS.min(dimensions);
    let neighbours = nearest(&reduced, width, NEIGHBOURS.min(count - 1));
    let mut places = first_places(&reduced, width, known, &neighbours, &mut random);
    let is_fixed: Vec<bool> = known.iter().map(Option::is_some).collect();
    let edges = edges_of(&neighbours);
    spread(&mut places, &edges, &is_fixed, &mut random);
    let are_some_fixed = is_fixed.iter().any(|fixed| *fixed);
    let (centre, scale) = if are_some_fixed { ((0.0, 0.0), SPREAD) } else { extent(&places) };
    let shown = |place: (f32, f32)| {
        let x = ((place.0 - centre.0) / scale).clamp(-1.0, 1.0);
        (x, ((place.1 - centre.1) / scale).clamp(-1.0, 1.0))
    };
    places.into_iter().zip(known).map(|(place, known)| known.unwrap_or_else(|| shown(place))).collect()
}

/// Random generator (SplitMix64). Its seed is fixed, so that equal input gives an equal layout.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number in −1..1.
    fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// The first principal components of the rows, `[rows, COMPONENTS]`, or fewer if `dimensions` is smaller.
fn components(vectors: &[f32], dimensions: usize, count: usize, random: &mut Random) -> Vec<f32> {
    let width = COMPONENTS.min(dimensions);
    let mut mean = vec![0.0f32; dimensions];
    for row in vectors.chunks_exact(dimensions) {
        mean.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / count as f32);
    }
    let mut centred = vectors.to_vec();
    for row in centred.chunks_exact_mut(dimensions) {
        row.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= mean);
    }
    let mut axes: Vec<Vec<f32>> = (0..width).map(|_| (0..dimensions).map(|_| random.signed()).collect()).collect();
    orthonormalise(&mut axes);
    for _ in 0..ROUNDS {
        let mut next = vec![vec![0.0f32; dimensions]; width];
        for row in centred.chunks_exact(dimensions) {
            for (axis, sum) in axes.iter().zip(&mut next) {
                let along = dot(axis, row);
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += along * value);
            }
        }
        axes = next;
        orthonormalise(&mut axes);
    }
    centred
        .chunks_exact(dimensions)
        .flat_map(|row| axes.iter().map(|axis| dot(axis, row)).collect::<Vec<_>>())
        .collect()
}

fn orthonormalise(axes: &mut [Vec<f32>]) {
    for at in 0..axes.len() {
        let (before, rest) = axes.split_at_mut(at);
        let axis = &mut rest[0];
        for other in before {
            let along = dot(axis, other);
            axis.iter_mut().zip(other.iter()).for_each(|(value, other)| *value -= along * other);
        }
        let length = dot(axis, axis).sqrt();
        if length > 1e-12 {
            axis.iter_mut().for_each(|value| *value /= length);
        } else {
            axis.fill(0.0);
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The nearest other rows of each row with their distances, nearest first.
fn nearest(rows: &[f32], width: usize, limit: usize) -> Vec<Vec<(u32, f32)>> {
    let all: Vec<&[f32]> = rows.chunks_exact(width).collect();
    let find = |at: usize| {
        let mut found: Vec<(u32, f32)> = Vec::with_capacity(limit + 1);
        for (other, row) in all.iter().enumerate() {
            if other == at {
                continue;
            }
            let distance: f32 = all[at].iter().zip(*row).map(|(a, b)| (a - b) * (a - b)).sum();
            if found.len() < limit || distance < found[found.len() - 1].1 {
                let place = found.partition_point(|(_, known)| *known <= distance);
                found.insert(place, (other as u32, distance));
                found.truncate(limit);
            }
        }
        found.iter().map(|(other, distance)| (*other, distance.sqrt())).collect()
    };
    (0..all.len()).map(find).collect()
}

/// Attractions between points, as (point, neighbour, weight in 0..1), computed as in UMAP.
fn edges_of(neighbours: &[Vec<(u32, f32)>]) -> Vec<(u32, u32, f32)> {
    let mut edges = Vec::with_capacity(neighbours.len() * NEIGHBOURS);
    for (point, near) in neighbours.iter().enumerate() {
        let closest = near.first().map_or(0.0, |(_, distance)| *distance);
        let wanted = (near.len() as f32).log2().max(0.1);
        let (mut low, mut high) = (1e-6f32, 1e6f32);
        for _ in 0..40 {
            let middle = (low * high).sqrt();
            let sum: f32 = near.iter().map(|(_, distance)| (-(distance - closest) / middle).exp()).sum();
            if sum > wanted { high = middle } else { low = middle }
        }
        let width = (low * high).sqrt();
        edges.extend(
            near.iter()
                .map(|(other, distance)| (point as u32, *other, (-(distance - closest) / width).exp().max(1e-3))),
        );
    }
    edges
}

/// The places where points start: their known place; otherwise the weighted mean of their neighbours with a known
/// place; otherwise their first two principal components.
fn first_places(
    rows: &[f32],
    width: usize,
    known: &[Option<(f32, f32)>],
    neighbours: &[Vec<(u32, f32)>],
    random: &mut Random,
) -> Vec<(f32, f32)> {
    let of = |row: &[f32]| (row[0], row.get(1).copied().unwrap_or(0.0));
    let raw: Vec<(f32, f32)> = rows.chunks_exact(width).map(of).collect();
    let (centre, scale) = extent(&raw);
    let by_components = |at: usize| {
        let (x, y) = raw[at];
        ((x - centre.0) / scale * SPREAD, (y - centre.1) / scale * SPREAD)
    };
    (0..known.len())
        .map(|at| {
            if let Some((x, y)) = known[at] {
                return (x * SPREAD, y * SPREAD);
            }
            let near = neighbours[at].iter().filter_map(|(other, distance)| Some((known[*other as usize]?, *distance)));
            let (mut x, mut y, mut sum) = (0.0, 0.0, 0.0);
            for (place, distance) in near {
                let weight = 1.0 / (distance + 1e-3);
                x += place.0 * SPREAD * weight;
                y += place.1 * SPREAD * weight;
                sum += weight;
            }
            let (x, y) = if sum > 0.0 { (x / sum, y / sum) } else { by_components(at) };
            (x + 0.05 * random.signed(), y + 0.05 * random.signed())
        })
        .collect()
}

/// Moves the points that are not fixed: edges attract them, and random points repel them.
fn spread(places: &mut [(f32, f32)], edges: &[(u32, u32, f32)], is_fixed: &[bool], random: &mut Random) {
    let epochs = if places.len() > FEW_POINTS { EPOCHS } else { EPOCHS_OF_FEW };
    let greatest = edges.iter().map(|(_, _, weight)| *weight).fold(1e-3, f32::max);
    let mut due: Vec<f32> = edges.iter().map(|(_, _, weight)| greatest / weight).collect();
    for epoch in 0..epochs {
        let rate = 1.0 - epoch as f32 / epochs as f32;
        for (at, (from, to, weight)) in edges.iter().enumerate() {
            if due[at] > epoch as f32 {
                continue;
            }
            due[at] += greatest / weight;
            let (from, to) = (*from as usize, *to as usize);
            let (dx, dy, distance) = apart(places[from], places[to]);
            if distance > 0.0 {
                let pull = -2.0 * A * B * distance.powf(B - 1.0) / (1.0 + A * distance.powf(B));
                shift(places, is_fixed, from, rate * clipped(pull * dx), rate * clipped(pull * dy));
                shift(places, is_fixed, to, -rate * clipped(pull * dx), -rate * clipped(pull * dy));
            }
            for _ in 0..REPULSIONS {
                let other = random.below(places.len());
                if other == from || is_fixed[from] {
                    continue;
                }
                let (dx, dy, distance) = apart(places[from], places[other]);
                let push = 2.0 * B / ((0.001 + distance) * (1.0 + A * distance.powf(B)));
                let (x, y) = if distance > 0.0 {
                    (clipped(push * dx), clipped(push * dy))
                } else {
                    (4.0 * random.signed(), 4.0 * random.signed())
                };
                shift(places, is_fixed, from, rate * x, rate * y);
            }
        }
    }
}

/// The difference of two places, and the square of its length.
fn apart(a: (f32, f32), b: (f32, f32)) -> (f32, f32, f32) {
    let (dx, dy) = (a.0 - b.0, a.1 - b.1);
    (dx, dy, dx * dx + dy * dy)
}

fn clipped(step: f32) -> f32 {
    step.clamp(-4.0, 4.0)
}

fn shift(places: &mut [(f32, f32)], is_fixed: &[bool], at: usize, dx: f32, dy: f32) {
    if !is_fixed[at] {
        places[at].0 += dx;
        places[at].1 += dy;
    }
}

/// The centre of places (medians), and the distance from it in x or y within which 99.5 % of them lie.
fn extent(places: &[(f32, f32)]) -> ((f32, f32), f32) {
    let median = |values: &mut Vec<f32>| {
        values.sort_unstable_by(f32::total_cmp);
        values[values.len() / 2]
    };
    let x = median(&mut places.iter().map(|place| place.0).collect());
    let y = median(&mut places.iter().map(|place| place.1).collect());
    let mut distances: Vec<f32> = places.iter().map(|place| (place.0 - x).abs().max((place.1 - y).abs())).collect();
    distances.sort_unstable_by(f32::total_cmp);
    let outer = distances[(distances.len() - 1) * 199 / 200];
    ((x, y), (outer * 1.02).max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random vectors near three directions, and the number of the direction of each.
    fn clusters(count: usize) -> (Vec<f32>, Vec<usize>) {
        let mut random = Random(7);
        let of: Vec<usize> = (0..count).map(|at| at % 3).collect();
        let rows = of.iter().flat_map(|cluster| {
            let row: Vec<f32> =
                (0..32).map(|at| f32::from(u8::from(at == *cluster)) + 0.15 * random.signed()).collect();
            row
        });
        (rows.collect(), of)
    }

    #[test]
    fn similar_points_lie_together_within_the_plane() {
        let (vectors, of) = clusters(120);
        let places = layout(&vectors, 32, &[None; 120]);
        assert!(places.iter().all(|(x, y)| x.abs() <= 1.0 && y.abs() <= 1.0));
        let mut right = 0;
        for (at, place) in places.iter().enumerate() {
            let distance = |other: &usize| apart(*place, places[*other]).2;
            let near = (0..120).filter(|other| *other != at).min_by(|a, b| distance(a).total_cmp(&distance(b)));
            right += usize::from(near.is_some_and(|near| of[near] == of[at]));
        }
        assert!(right >= 114, "{right} of 120 are nearest to one of their cluster");
        assert_eq!(places, layout(&vectors, 32, &[None; 120]));
    }

    #[test]
    fn known_points_keep_their_place_and_new_ones_come_near_their_like() {
        let (vectors, of) = clusters(90);
        let before = layout(&vectors[..60 * 32], 32, &[None; 60]);
        let known: Vec<_> = (0..90).map(|at| before.get(at).copied()).collect();
        let places = layout(&vectors, 32, &known);
        assert_eq!(&places[..60], &before[..]);
        let near = |at: usize| {
            let distance = |other: &usize| apart(places[at], places[*other]).2;
            (0..60).min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let right = (60..90).filter(|at| near(*at).is_some_and(|near| of[near] == of[*at])).count();
        assert!(right >= 27, "{right} of 30");
    }

    #[test]
    fn few_or_equal_points_have_places_as_well() {
        for count in 0..6 {
            let places = layout(&vec![0.5; count * 8], 8, &vec![None; count]);
            assert!(places.len() == count && places.iter().all(|(x, y)| x.is_finite() && y.is_finite()));
        }
    }
}
