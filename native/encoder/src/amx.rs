//! Integer products on processors with AMX (Advanced Matrix Extensions), which multiply 16 rows by 16 outputs in one
//! instruction, 64 inputs at a time. Sums are exact, so the results are the same to the last bit as those of `vnni`.
//!
//! A tile register holds 16 rows of 64 bytes. Rust has no stable intrinsics for tiles, so this file uses assembly.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ops::Range;

use crate::byte_rows::ByteRows;
use crate::weights::{STEP_INPUTS, StepPanels, TILE_WIDTH, WIDE_COLUMNS, WidePanel, WideStep};

/// Maximum number of rows of a tile.
const TILE_ROWS: usize = 16;
/// Number of sums in a tile's row.
const TILE_COLUMNS: usize = TILE_WIDTH / size_of::<i32>();
/// Number of steps whose weights are in one tile.
const TILE_STEPS: usize = TILE_WIDTH / STEP_INPUTS;

/// Computes the outputs of some panels for all rows. The outputs of row `r` and panel `p` are written to
/// `output[r * stride + p * WIDE_COLUMNS..]`.
///
/// # Safety
/// `instructions::has_amx` must be true.
#[target_feature(enable = "avx512f")]
pub unsafe fn multiply(
    rows: &ByteRows<'_>,
    panels: StepPanels<'_>,
    panel_numbers: Range<usize>,
    output: &mut [f32],
    stride: usize,
) {
    let count = rows.scales.len();
    assert!(
        rows.bytes.len() == count * rows.width && rows.width > 0 && rows.width.is_multiple_of(TILE_WIDTH),
        "rows have a scale each, and fit tiles"
    );
    if count == 0 {
        return;
    }
    let tile_rows = count.min(TILE_ROWS);
    // SAFETY: the caller guarantees that tiles may be used.
    let tiles = unsafe { Tiles::configure(tile_rows) };
    let mut sums = Sums([[[[0; TILE_COLUMNS]; TILE_ROWS]; 2]; 2]);
    for number in panel_numbers {
        let panel = panels.panel(number);
        assert!(panel.steps.len() * STEP_INPUTS == rows.width, "rows fit the layer");
        let conversion = Conversion::of(&panel, rows.zero);
        for first in (0..count).step_by(2 * TILE_ROWS) {
            // All tiles have the same number of rows. So the last tile begins early enough to be full, and computes
            // some rows a second time.
            let starts = [first, first + TILE_ROWS].map(|start| start.min(count - tile_rows));
            let starts = if count - first > TILE_ROWS { &starts[..] } else { &starts[..1] };
            // SAFETY: each tile has `tile_rows` rows, so the last one ends with the last row.
            unsafe { tiles.multiply(rows, starts, &panel, &mut sums) };
            for (sums, start) in sums.0.iter().zip(starts) {
                for (at, sums) in sums[0].iter().zip(&sums[1]).take(tile_rows).enumerate() {
                    let row = start + at;
                    let place = output[row * stride + number * WIDE_COLUMNS..].first_chunk_mut();
                    conversion.write(sums.into(), rows.scales[row], place.expect("a row has all outputs"));
                }
            }
        }
    }
}

/// The numbers that turn a panel's sums into outputs, in halves of the panel.
struct Conversion {
    /// Added to the sums to correct them: the value 0 is stored as the byte `ByteRows::zero`, so each sum is off by
    /// that byte times the sum of the output's weights.
    offsets: [__m512i; 2],
    scales: [__m512; 2],
    bias: [__m512; 2],
}

impl Conversion {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn of(panel: &WidePanel<'_>, zero: u8) -> Self {
        let zero = _mm512_set1_epi32(-i32::from(zero));
        let halves = [0, 1].map(|half| half * TILE_COLUMNS..(half + 1) * TILE_COLUMNS);
        // SAFETY: all three have `WIDE_COLUMNS` numbers, so 16 are there in each half.
        unsafe {
            let sums = halves.clone().map(|half| _mm512_loadu_si512(panel.sums[half].as_ptr().cast()));
            Conversion {
                offsets: sums.map(|sums| _mm512_mullo_epi32(sums, zero)),
                scales: halves.clone().map(|half| _mm512_loadu_ps(panel.scales[half].as_ptr())),
                bias: halves.map(|half| _mm512_loadu_ps(panel.bias[half].as_ptr())),
            }
        }
    }

    /// Writes the outputs of one row, whose sums are in two halves.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn write(&self, sums: [&[i32; TILE_COLUMNS]; 2], row_scale: f32, output: &mut [f32; WIDE_COLUMNS]) {
        let row_scale = _mm512_set1_ps(row_scale);
        for (half, sums) in sums.into_iter().enumerate() {
            let place = &mut output[half * TILE_COLUMNS..][..TILE_COLUMNS];
            // SAFETY: `sums` has 16 integers, and `place` 16 floats.
            unsafe {
                let sum = _mm512_add_epi32(_mm512_loadu_si512(sums.as_ptr().cast()), self.offsets[half]);
                let scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), self.scales[half]);
                _mm512_storeu_ps(place.as_mut_ptr(), _mm512_fmadd_ps(scaled, row_scale, self.bias[half]));
            }
        }
    }
}

/// Sums of products, indexed by `[tile of rows][half of the panel][row][output]`.
#[repr(C, align(64))]
struct Sums([[[[i32; TILE_COLUMNS]; TILE_ROWS]; 2]; 2]);

/// Assembly that multiplies tiles of rows by the steps of a panel. For each tile: the address of its inputs; its
/// registers for the sums of both halves and for inputs; and where its sums are in `$sums`, in tiles.
macro_rules! multiply_tiles {
    (
        $steps:expr, $width:expr, $sums:expr,
        $(($inputs:ident = $address:expr, $left:literal $right:literal $tile:literal, $at:literal $next:literal)),+
    ) => {
        asm!(
            $(concat!("tilezero ", $left), concat!("tilezero ", $right),)+
            "2:",
            "tileloadd tmm6, [{weights} + {step}]",
            "tileloadd tmm7, [{weights} + {step} + {row_bytes}]",
            $(
                concat!("tileloadd ", $tile, ", [{", stringify!($inputs), "} + {width}]"),
                concat!("tdpbusd ", $left, ", ", $tile, ", tmm6"),
                concat!("tdpbusd ", $right, ", ", $tile, ", tmm7"),
                concat!("add {", stringify!($inputs), "}, {row_bytes}"),
            )+
            "add {weights}, {pass_bytes}",
            "dec {passes}",
            "jnz 2b",
            $(
                concat!("tilestored [{sums} + {row_stride} + ", $at, " * {tile_bytes}], ", $left),
                concat!("tilestored [{sums} + {row_stride} + ", $next, " * {tile_bytes}], ", $right),
            )+
            weights = inout(reg) $steps.as_ptr() => _,
            $($inputs = inout(reg) $address => _,)+
            passes = inout(reg) $steps.len() / TILE_STEPS => _,
            sums = in(reg) $sums,
            width = in(reg) $width,
            step = in(reg) size_of::<WideStep>(),
            row_stride = in(reg) TILE_WIDTH,
            row_bytes = const TILE_WIDTH,
            pass_bytes = const TILE_STEPS * size_of::<WideStep>(),
            tile_bytes = const TILE_ROWS * TILE_WIDTH,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        )
    };
}

/// The tile registers of this thread, while they are configured: 0 to 3 for sums, 4 and 5 for inputs, 6 and 7 for
/// weights. Dropping it releases them, so that the operating system need not save them.
struct Tiles;

impl Tiles {
    /// Configures the registers for `rows` rows of inputs and sums, at most `TILE_ROWS`.
    ///
    /// # Safety
    /// `instructions::has_amx` must be true.
    unsafe fn configure(rows: usize) -> Self {
        /// The layout of `ldtilecfg`, palette 1.
        #[repr(C)]
        struct Configuration {
            palette: u8,
            start_row: u8,
            reserved: [u8; 14],
            bytes_of_rows: [u16; 16],
            rows: [u8; 16],
        }
        let registers = |inputs_and_sums: usize, weights: usize| -> [u8; 16] {
            std::array::from_fn(|at| match at {
                ..6 => inputs_and_sums as u8,
                6..8 => weights as u8,
                _ => 0,
            })
        };
        let configuration = Configuration {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            bytes_of_rows: registers(TILE_WIDTH, TILE_WIDTH).map(u16::from),
            rows: registers(rows, TILE_STEPS),
        };
        // SAFETY: the instruction reads the 64 bytes of the configuration.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &configuration, options(nostack, readonly, preserves_flags)) };
        Tiles
    }

    /// Multiplies one or two tiles of rows by a panel, and writes the sums of their rows. `starts` are the first rows
    /// of the tiles.
    ///
    /// # Safety
    /// From each start on there must be as many rows as are configured, and rows must have as many bytes as the panel
    /// has inputs, a multiple of `TILE_WIDTH`.
    #[inline]
    unsafe fn multiply(&self, rows: &ByteRows<'_>, starts: &[usize], panel: &WidePanel<'_>, sums: &mut Sums) {
        let inputs = |start: usize| rows.bytes[start * rows.width..].as_ptr();
        // SAFETY: the code reads the inputs that the caller guarantees, and the panel's steps, `TILE_STEPS` per pass.
        // It writes whole tiles into `sums`.
        unsafe {
            match *starts {
                [first, second] => multiply_tiles!(
                    panel.steps,
                    rows.width,
                    sums,
                    (first = inputs(first), "tmm0" "tmm1" "tmm4", 0 1),
                    (second = inputs(second), "tmm2" "tmm3" "tmm5", 2 3)
                ),
                [first] => multiply_tiles!(
                    panel.steps,
                    rows.width,
                    sums,
                    (first = inputs(first), "tmm0" "tmm1" "tmm4", 0 1)
                ),
                _ => unreachable!("one or two tiles"),
            }
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: the registers belong to this value, and nothing else uses them.
        unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
    }
}
