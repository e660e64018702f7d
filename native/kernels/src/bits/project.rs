//! Hyperplane projections: which embeddings lie on which side of which plane (Charikar 2002, "Similarity estimation
//! techniques from rounding algorithms").
//!
//! Embeddings are whole numbers and the planes' normals 1 and -1, so all sums are exact and the same on every set.

use super::{fits, BitsError};
#[cfg(target_arch = "x86_64")]
use crate::encoder::tiles::{Avx2, Avx512, AvxVnni};
use crate::encoder::tiles::{Bytes, Cells, Portable, Rows, Tiles, LANES, STEP, TILE_PANELS, TILE_ROWS};
use crate::instructions::InstructionSet;

/// Panels of sixteen planes whose sides are one word.
const PANELS_A_WORD: usize = 64 / LANES;

/// Hyperplanes through the origin, laid out for the products.
pub struct Planes {
    /// Values of a normal.
    width: usize,
    /// Planes by 64.
    words: usize,
    panels: Vec<Bytes>,
    /// For each plane the sum of its normal's values: what 1 added to every value of an embedding would add.
    sums: Vec<[i32; LANES]>,
}

impl Planes {
    /// Lay out normals of `width` values each, row by row.
    ///
    /// # Errors
    ///
    /// [`BitsError`] where the normals have no values, are not of that width, are not a whole number of words, or have
    /// a value that is neither 1 nor -1.
    pub fn new(normals: &[i8], width: usize) -> Result<Self, BitsError> {
        let (Some(planes), Some(over)) = (normals.len().checked_div(width), normals.len().checked_rem(width)) else {
            return Err(BitsError::NoValues);
        };
        fits("values left over", over, 0)?;
        let words = planes.div_ceil(64);
        fits("planes", planes, 64 * words.max(1))?;
        if normals.iter().any(|value| value.unsigned_abs() != 1) {
            return Err(BitsError::Plane);
        }
        let steps = width.div_ceil(STEP);
        let mut panels = vec![Bytes([0; LANES * STEP]); planes / LANES * steps];
        let mut sums = vec![[0; LANES]; planes / LANES];
        for (plane, normal) in normals.chunks_exact(width).enumerate() {
            let (panel, lane) = (plane / LANES, plane % LANES);
            sums[panel][lane] = normal.iter().map(|value| i32::from(*value)).sum();
            let (whole, rest) = normal.as_chunks::<STEP>(); // pieces of a known length, which are no function calls
            let lines = &mut panels[panel * steps..][..steps];
            for (line, values) in lines.iter_mut().zip(whole) {
                line.0[lane * STEP..][..STEP].copy_from_slice(values);
            }
            if let (false, Some(line)) = (rest.is_empty(), lines.last_mut()) {
                line.0[lane * STEP..][..rest.len()].copy_from_slice(rest);
            }
        }
        Ok(Self { width, words, panels, sums })
    }

    /// Values of an embedding.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Words of a hypervector.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Write the sides of each embedding, rows of [`Self::words`] words; those of `tie` where it lies in a plane.
    ///
    /// # Errors
    ///
    /// [`BitsError`] where the embeddings are not rows of [`Self::width`] values, or `tie` or `sides` have another length.
    pub fn project(
        &self,
        set: InstructionSet,
        embeddings: &[i8],
        tie: &[u64],
        sides: &mut [u64],
    ) -> Result<(), BitsError> {
        fits("values left over", embeddings.len() % self.width, 0)?;
        fits("words of the tie", tie.len(), self.words)?;
        fits("words of the result", sides.len(), embeddings.len() / self.width * self.words)?;
        sides.fill(0);
        match set {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the set, as just asked.
            InstructionSet::Avx512 if set.is_available() => unsafe { self.project_avx512(embeddings, tie, sides) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            InstructionSet::AvxVnni if set.is_available() => unsafe { self.project_avxvnni(embeddings, tie, sides) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            InstructionSet::Avx2 if set.is_available() => unsafe { self.project_avx2(embeddings, tie, sides) },
            // SAFETY: every processor has it.
            _ => unsafe { self.project_as::<Portable>(embeddings, tie, sides) },
        }
        Ok(())
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn project_avx512(&self, embeddings: &[i8], tie: &[u64], sides: &mut [u64]) {
        // SAFETY: the caller's.
        unsafe { self.project_as::<Avx512>(embeddings, tie, sides) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,avxvnni")]
    unsafe fn project_avxvnni(&self, embeddings: &[i8], tie: &[u64], sides: &mut [u64]) {
        // SAFETY: the caller's.
        unsafe { self.project_as::<AvxVnni>(embeddings, tie, sides) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn project_avx2(&self, embeddings: &[i8], tie: &[u64], sides: &mut [u64]) {
        // SAFETY: the caller's.
        unsafe { self.project_as::<Avx2>(embeddings, tie, sides) }
    }

    /// All embeddings against one stretch of planes before the next, which stays in the first-level cache meanwhile.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set `T`.
    #[inline(always)]
    unsafe fn project_as<T: Tiles>(&self, embeddings: &[i8], tie: &[u64], sides: &mut [u64]) {
        let steps = self.width.div_ceil(STEP);
        let stride = steps * STEP;
        let rows = embeddings.len() / self.width;
        let mut left = vec![0_u8; rows * stride];
        for (bytes, embedding) in left.chunks_exact_mut(stride).zip(embeddings.chunks_exact(self.width)) {
            for (byte, value) in bytes.iter_mut().zip(embedding) {
                *byte = (i32::from(*value) + 128 - T::SHIFT) as u8; // signed where the set takes signed ones
            }
        }
        let mut cells: Cells<i32> = [[[0; LANES]; TILE_PANELS]; TILE_ROWS];
        for panel in (0..self.sums.len()).step_by(T::PANELS) {
            let zeros: [[i32; LANES]; TILE_PANELS] = std::array::from_fn(|index| {
                self.sums.get(panel + index).map_or([0; LANES], |sums| sums.map(|sum| (128 - T::SHIFT) * sum))
            });
            for row in (0..rows).step_by(T::ROWS) {
                let tile = T::ROWS.min(rows - row);
                let from = Rows { values: &left[row * stride..], stride };
                // SAFETY: the caller's.
                unsafe { T::bytes(tile, T::PANELS, from, &self.panels[panel * steps..], steps, &mut cells) };
                for (index, cells) in cells[..tile].iter().enumerate() {
                    let word = panel / PANELS_A_WORD;
                    let out = &mut sides[(row + index) * self.words + word];
                    for (part, (sums, zeros)) in cells.iter().zip(&zeros).take(T::PANELS).enumerate() {
                        let shift = (panel + part) % PANELS_A_WORD * LANES;
                        let tie = (tie[word] >> shift) as u16;
                        *out |= u64::from(sides_of(sums, zeros, tie)) << shift;
                    }
                }
            }
        }
    }
}

/// In which lanes the sum is over its zero, or there and `tie` is set.
#[inline(always)]
fn sides_of(sums: &[i32; LANES], zeros: &[i32; LANES], tie: u16) -> u16 {
    let (mut over, mut equal) = (0, 0);
    for lane in 0..LANES {
        over |= u16::from(sums[lane] > zeros[lane]) << lane;
        equal |= u16::from(sums[lane] == zeros[lane]) << lane;
    }
    over | equal & tie
}
