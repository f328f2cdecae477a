//! The weights of a linear layer, packed in the order in which `kernels`, `vnni` or `amx` multiplies them.
//!
//! The outputs of a layer are divided into panels of `COLUMNS` outputs, the inputs into steps of `STEP_INPUTS` inputs.
//! With VNNI or AMX, a panel has its steps in order. Processors without VNNI add two products of bytes in 16 bits, and
//! need the same time again to widen this sum to 32 bits. But the weights limit how large a sum can become. So for
//! these processors each panel packs its steps into groups of up to four, such that the sum of a group fits into 16
//! bits for any input. Then only the sum of each group is widened. With 7-bit weights nearly all groups are full, which
//! saves three eighths of the multiplication time. Results are exact.

use crate::error::{Error, Result};
use crate::instructions::Instructions;

/// Number of outputs that are computed together. Their sums fill one vector register.
pub const COLUMNS: usize = 8;
/// Number of inputs that one step multiplies. They are the bytes of a 32-bit lane.
pub const STEP_INPUTS: usize = 4;
/// Number of steps of a group, which are widened together. With three, there would be 5 % more multiplications; with
/// five, many steps would be empty.
pub const GROUP_STEPS: usize = 4;

/// One step: the weights of `COLUMNS` outputs for `STEP_INPUTS` inputs, output by output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(32))]
pub struct Step(pub [i8; COLUMNS * STEP_INPUTS]);

/// A group of steps whose products are added in 16 bits. A group that is not full ends with steps of zeros.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Group {
    /// The weights, step by step.
    pub steps: [Step; GROUP_STEPS],
}

/// Number of inputs in a row of an AMX tile. A layer is multiplied with tiles if its inputs fill whole rows.
pub const TILE_WIDTH: usize = 64;

/// Number of outputs that are computed together with VNNI or AMX. With VNNI, their sums fill two vector registers.
pub const WIDE_COLUMNS: usize = 32;

/// One step with VNNI or AMX: the weights of `WIDE_COLUMNS` outputs for `STEP_INPUTS` inputs, output by output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct WideStep(pub [i8; WIDE_COLUMNS * STEP_INPUTS]);

/// The weights of one panel of `WIDE_COLUMNS` outputs.
pub struct WidePanel<'a> {
    /// One step for every `STEP_INPUTS` inputs.
    pub steps: &'a [WideStep],
    /// Sum of the weights of each output.
    pub sums: &'a [i32; WIDE_COLUMNS],
    /// For each output, the factor for its sum of products.
    pub scales: &'a [f32; WIDE_COLUMNS],
    /// For each output, the number that is added to it.
    pub bias: &'a [f32; WIDE_COLUMNS],
}

/// A linear layer with weights of signed bytes: `output = (input · weights) * scales + bias`.
#[derive(Debug)]
pub struct Linear {
    inputs: usize,
    packed: Packed,
    sums: Vec<i32>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

#[derive(Debug)]
enum Packed {
    /// For processors with AVX2.
    Groups(Groups),
    /// For processors with VNNI: the steps of all panels, panel by panel.
    Steps(Vec<WideStep>),
    /// For processors with AMX: the same layout as `Steps`. Each half of a step (64 bytes) is one row of a tile.
    Tiles(Vec<WideStep>),
}

#[derive(Debug)]
struct Groups {
    groups: Vec<Group>,
    /// For each group, the index of the first input of each step.
    offsets: Vec<[u32; GROUP_STEPS]>,
    /// Panel `p` consists of the groups `panels[p]..panels[p + 1]`.
    panels: Vec<usize>,
}

/// The panels of a linear layer.
pub enum Panels<'a> {
    Groups(GroupPanels<'a>),
    Steps(StepPanels<'a>),
    Tiles(StepPanels<'a>),
}

/// The panels of a layer that is packed for AVX2.
#[derive(Clone, Copy)]
pub struct GroupPanels<'a>(&'a Linear, &'a Groups);

/// The panels of a layer that is packed for VNNI or AMX.
#[derive(Clone, Copy)]
pub struct StepPanels<'a>(&'a Linear, &'a [WideStep]);

/// The weights of one panel of `COLUMNS` outputs.
#[derive(Debug, Clone, Copy)]
pub struct Panel<'a> {
    /// Groups of steps.
    pub groups: &'a [Group],
    /// For each group, the index of the first input of each step. All steps are within the layer's inputs.
    pub offsets: &'a [[u32; GROUP_STEPS]],
    /// Sum of the weights of each output.
    pub sums: &'a [i32; COLUMNS],
    /// For each output, the factor for its sum of products.
    pub scales: &'a [f32; COLUMNS],
    /// For each output, the number that is added to it.
    pub bias: &'a [f32; COLUMNS],
}

impl Linear {
    /// Packs weights (`[inputs, outputs]`) for a processor with `instructions`. `scales` and `bias` have one value per
    /// output. Fails with `Invalid` if a weight has more than 7 bits, or if a size is not a multiple of a step or a
    /// panel.
    pub fn pack(
        weights: &[i8],
        inputs: usize,
        scales: Vec<f32>,
        bias: Vec<f32>,
        instructions: Instructions,
    ) -> Result<Self> {
        let outputs = scales.len();
        let columns = match instructions {
            Instructions::Avx2 => COLUMNS,
            Instructions::Vnni | Instructions::Amx => WIDE_COLUMNS,
        };
        let is_even = inputs.is_multiple_of(STEP_INPUTS) && outputs.is_multiple_of(columns);
        if !is_even || u32::try_from(inputs).is_err() || weights.len() != inputs * outputs {
            return Err(Error::invalid(format!("a layer of {inputs} by {outputs} cannot be packed")));
        }
        if bias.len() != outputs || weights.iter().any(|weight| weight.unsigned_abs() > WEIGHT_MAX) {
            return Err(Error::invalid("a layer's weights have more than 7 bits"));
        }
        let mut sums = vec![0i32; outputs];
        for row in weights.chunks_exact(outputs) {
            sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += i32::from(*weight));
        }
        let weight = |step: usize, first: usize, at: usize| {
            weights[(step * STEP_INPUTS + at % STEP_INPUTS) * outputs + first + at / STEP_INPUTS]
        };
        let steps = 0..inputs / STEP_INPUTS;
        let panels = (0..outputs).step_by(columns);
        let packed = match instructions {
            Instructions::Avx2 => {
                let mut packed = Groups { groups: vec![], offsets: vec![], panels: vec![0] };
                for first in panels {
                    let step = |number: usize| Step(std::array::from_fn(|at| weight(number, first, at)));
                    packed.push_panel(steps.clone().map(step).collect());
                }
                Packed::Groups(packed)
            }
            Instructions::Vnni | Instructions::Amx => {
                let step = |number, first| WideStep(std::array::from_fn(|at| weight(number, first, at)));
                let mut packed = Vec::with_capacity(inputs * outputs / size_of::<WideStep>());
                packed.extend(panels.flat_map(|first| steps.clone().map(move |number| step(number, first))));
                let has_tiles = instructions == Instructions::Amx && inputs.is_multiple_of(TILE_WIDTH);
                if has_tiles { Packed::Tiles(packed) } else { Packed::Steps(packed) }
            }
        };
        Ok(Linear { inputs, packed, sums, scales, bias })
    }

    /// Number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.scales.len()
    }

    /// Returns the panels, as they are packed.
    pub fn panels(&self) -> Panels<'_> {
        match &self.packed {
            Packed::Groups(groups) => Panels::Groups(GroupPanels(self, groups)),
            Packed::Steps(steps) => Panels::Steps(StepPanels(self, steps)),
            Packed::Tiles(steps) => Panels::Tiles(StepPanels(self, steps)),
        }
    }
}

impl<'a> GroupPanels<'a> {
    /// Returns the panel with a number.
    pub fn panel(self, number: usize) -> Panel<'a> {
        let GroupPanels(linear, packed) = self;
        let groups = packed.panels[number]..packed.panels[number + 1];
        let first = number * COLUMNS;
        Panel {
            groups: &packed.groups[groups.clone()],
            offsets: &packed.offsets[groups],
            sums: chunk(&linear.sums[first..]),
            scales: chunk(&linear.scales[first..]),
            bias: chunk(&linear.bias[first..]),
        }
    }
}

impl<'a> StepPanels<'a> {
    /// Returns the panel with a number.
    pub fn panel(self, number: usize) -> WidePanel<'a> {
        let StepPanels(linear, steps) = self;
        let count = linear.inputs / STEP_INPUTS;
        let first = number * WIDE_COLUMNS;
        WidePanel {
            steps: &steps[number * count..][..count],
            sums: chunk(&linear.sums[first..]),
            scales: chunk(&linear.scales[first..]),
            bias: chunk(&linear.bias[first..]),
        }
    }
}

impl Groups {
    /// Packs the steps of one panel into groups. Each group gets the remaining step with the largest possible sum, then
    /// the next steps that fit.
    fn push_panel(&mut self, steps: Vec<Step>) {
        let mut remaining: Vec<(usize, SumBounds)> = steps.iter().map(SumBounds::of).enumerate().collect();
        remaining.sort_by_key(|(_, bounds)| std::cmp::Reverse(bounds.largest()));
        while !remaining.is_empty() {
            let mut group = Group { steps: [Step([0; COLUMNS * STEP_INPUTS]); GROUP_STEPS] };
            let mut offsets = [0u32; GROUP_STEPS];
            let (mut filled, mut bounds) = (0, SumBounds::default());
            remaining.retain(|(number, step_bounds)| {
                let together = bounds.plus(step_bounds);
                let is_taken = filled < GROUP_STEPS && together.largest() <= WEIGHT_SUM_MAX;
                if is_taken {
                    (group.steps[filled], offsets[filled]) = (steps[*number], (*number * STEP_INPUTS) as u32);
                    (filled, bounds) = (filled + 1, together);
                }
                !is_taken
            });
            self.groups.push(group);
            self.offsets.push(offsets);
        }
        self.panels.push(self.groups.len());
    }
}

/// Maximum magnitude of a weight. The sum of two weights is at most `WEIGHT_SUM_MAX`, so every step fits into a group.
const WEIGHT_MAX: u8 = 64;
/// Maximum sum of weights of the same sign in one 16-bit lane. Multiplied by an input of 255, it is below 2^15.
const WEIGHT_SUM_MAX: u8 = 128;
/// Number of 16-bit lanes of a step. Two neighbouring inputs of an output share a lane.
const LANES: usize = COLUMNS * STEP_INPUTS / 2;

/// Bounds for the sums in the 16-bit lanes: for each lane the sum of the positive weights, then for each lane the sum
/// of the magnitudes of the negative weights.
#[derive(Clone, Copy)]
struct SumBounds([u8; 2 * LANES]);

impl Default for SumBounds {
    fn default() -> Self {
        SumBounds([0; 2 * LANES])
    }
}

impl SumBounds {
    fn of(step: &Step) -> Self {
        let (pairs, _) = step.0.as_chunks::<2>();
        SumBounds(std::array::from_fn(|at| {
            let side = |weight: i8| if at < LANES { weight.max(0) } else { weight.min(0) }.unsigned_abs();
            let [first, second] = pairs[at % LANES];
            side(first) + side(second)
        }))
    }

    fn plus(&self, other: &SumBounds) -> SumBounds {
        SumBounds(std::array::from_fn(|at| self.0[at].saturating_add(other.0[at])))
    }

    fn largest(&self) -> u8 {
        self.0.into_iter().fold(0, u8::max)
    }
}

fn chunk<Item, const N: usize>(items: &[Item]) -> &[Item; N] {
    items.first_chunk().expect("a panel's outputs are all there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;

    fn pack(weights: &[i8], inputs: usize) -> Linear {
        let outputs = weights.len() / inputs;
        let (scales, bias) = (vec![1.0; outputs], vec![0.0; outputs]);
        Linear::pack(weights, inputs, scales, bias, Instructions::Avx2).expect("weights of 7 bits")
    }

    fn groups(linear: &Linear) -> GroupPanels<'_> {
        let Panels::Groups(panels) = linear.panels() else { panic!("packed for AVX2") };
        panels
    }

    #[test]
    fn every_weight_is_in_one_group_and_no_sum_leaves_16_bits() {
        let mut chance = Chance::new();
        let (inputs, outputs) = (96, 2 * COLUMNS);
        for spread in [1usize, 20, 64] {
            let draw = |chance: &mut Chance| (chance.below(2 * spread + 1) as i32 - spread as i32) as i8;
            let mut weights: Vec<i8> = (0..inputs * outputs).map(|_| draw(&mut chance)).collect();
            weights[..outputs].fill(-64);
            weights[outputs..2 * outputs].fill(64);
            let linear = pack(&weights, inputs);
            for number in 0..outputs / COLUMNS {
                let panel = groups(&linear).panel(number);
                let mut found = vec![0i32; inputs * COLUMNS];
                for (group, offsets) in panel.groups.iter().zip(panel.offsets) {
                    let (mut up, mut down) = ([0i32; LANES], [0i32; LANES]);
                    for (step, offset) in group.steps.iter().zip(offsets) {
                        for (at, weight) in step.0.iter().enumerate() {
                            let input = *offset as usize + at % STEP_INPUTS;
                            found[input * COLUMNS + at / STEP_INPUTS] += i32::from(*weight);
                            let side = if *weight > 0 { &mut up } else { &mut down };
                            side[at / 2] += 255 * i32::from(*weight);
                        }
                    }
                    assert!(up.iter().all(|sum| *sum <= i32::from(i16::MAX)), "{up:?}");
                    assert!(down.iter().all(|sum| *sum >= i32::from(i16::MIN)), "{down:?}");
                }
                for (at, found) in found.iter().enumerate() {
                    let column = number * COLUMNS + at % COLUMNS;
                    assert_eq!(*found, i32::from(weights[at / COLUMNS * outputs + column]));
                }
                let sum =
                    |column: usize| (0..inputs).map(|input| i32::from(weights[input * outputs + column])).sum::<i32>();
                assert_eq!(panel.sums, &std::array::from_fn(|at| sum(number * COLUMNS + at)));
            }
        }
    }

    #[test]
    fn tiles_are_only_for_layers_whose_inputs_fill_their_rows() {
        for (inputs, is_tiled) in [(32, false), (64, true), (96, false), (128, true)] {
            let (weights, scales) = (vec![1; inputs * WIDE_COLUMNS], vec![1.0; WIDE_COLUMNS]);
            let linear = Linear::pack(&weights, inputs, scales.clone(), scales, Instructions::Amx).expect("a layer");
            assert_eq!(matches!(linear.panels(), Panels::Tiles(_)), is_tiled, "{inputs} inputs");
        }
    }

    #[test]
    fn for_vnni_every_weight_is_in_its_step() {
        let (inputs, outputs) = (12, 2 * WIDE_COLUMNS);
        let weights: Vec<i8> =
            (0..inputs * outputs).map(|at| (at * 7 % 129) as i8).map(|at| at.wrapping_sub(64)).collect();
        let weights: Vec<i8> = weights.into_iter().map(|weight| weight.clamp(-64, 64)).collect();
        let (scales, bias) = (vec![1.0; outputs], vec![0.0; outputs]);
        let linear = Linear::pack(&weights, inputs, scales, bias, Instructions::Vnni).expect("weights of 7 bits");
        let Panels::Steps(panels) = linear.panels() else { panic!("packed for VNNI") };
        for (at, weight) in weights.iter().enumerate() {
            let (input, output) = (at / outputs, at % outputs);
            let step = &panels.panel(output / WIDE_COLUMNS).steps[input / STEP_INPUTS];
            assert_eq!(step.0[output % WIDE_COLUMNS * STEP_INPUTS + input % STEP_INPUTS], *weight);
        }
    }

    #[test]
    fn small_weights_fill_all_groups() {
        let linear = pack(&[5; 64 * COLUMNS], 64);
        assert_eq!(groups(&linear).panel(0).groups.len(), 64 / STEP_INPUTS / GROUP_STEPS);
    }

    #[test]
    fn unsupported_layers_are_refused() {
        let pack = |weights: &[i8], inputs: usize, outputs: usize, bias: usize| {
            Linear::pack(weights, inputs, vec![1.0; outputs], vec![0.0; bias], Instructions::Avx2)
        };
        assert!(pack(&[64; 64], 4, 16, 16).is_ok());
        let for_vnni = |outputs: usize| {
            Linear::pack(&vec![1; 4 * outputs], 4, vec![1.0; outputs], vec![0.0; outputs], Instructions::Vnni)
        };
        assert!(for_vnni(64).is_ok() && for_vnni(48).is_err(), "panels of 32 outputs");
        for (weights, inputs, outputs, bias) in [
            (vec![65; 64], 4, 16, 16),
            (vec![1; 64], 4, 16, 15),
            (vec![1; 63], 4, 16, 16),
            (vec![1; 96], 6, 16, 16),
            (vec![1; 60], 4, 15, 15),
        ] {
            assert!(matches!(pack(&weights, inputs, outputs, bias), Err(Error::Invalid(_))));
        }
    }
}
