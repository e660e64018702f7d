//! The instruction sets a kernel may be computed with, and which one is.

use std::fmt;
use std::sync::OnceLock;

/// The environment variable that forces an instruction set.
pub const VARIABLE: &str = "MNEMIC_INSTRUCTIONS";

/// A way to compute, by the instructions it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// AVX-512 with VNNI and VPOPCNTDQ (Ice Lake, Zen 4 and later): sixteen floats, 64 bytes at a time.
    Avx512,
    /// AVX2 with FMA and the 256-bit VNNI (Alder Lake and later): eight floats, 32 bytes at a time.
    AvxVnni,
    /// AVX2 with FMA (Haswell, Zen and later).
    Avx2,
    /// Plain Rust, on every processor; on 64-bit ARM the compiler makes NEON of it.
    Portable,
}

/// Why the instruction set that the environment names cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceError {
    /// There is none of that name.
    Unknown {
        /// The name.
        name: String,
    },
    /// This processor has not got it.
    Unavailable {
        /// The name.
        name: String,
    },
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, why) = match self {
            Self::Unknown { name } => (name, "is no instruction set"),
            Self::Unavailable { name } => (name, "is not what this processor has"),
        };
        let usable: Vec<_> = InstructionSet::available().map(InstructionSet::name).collect();
        write!(out, "{VARIABLE} is {name:?}, which {why}; unset it, or name one of {}", usable.join(", "))
    }
}

impl std::error::Error for ChoiceError {}

impl InstructionSet {
    /// All of them, the fastest first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::AvxVnni, Self::Avx2, Self::Portable];

    /// Those that this processor has, the fastest first; the portable one is always among them.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|set| set.is_available())
    }

    /// The fastest that this processor has.
    pub fn detect() -> Self {
        Self::available().next().unwrap_or(Self::Portable)
    }

    /// The one that [`VARIABLE`] names, else the fastest that this processor has. The environment is read once.
    ///
    /// # Errors
    ///
    /// [`ChoiceError`] where it names none, or one that this processor has not got.
    pub fn chosen() -> Result<Self, ChoiceError> {
        static CHOSEN: OnceLock<Result<InstructionSet, ChoiceError>> = OnceLock::new();
        CHOSEN
            .get_or_init(|| Self::choose(std::env::var_os(VARIABLE).map(|name| name.to_string_lossy().into())))
            .clone()
    }

    fn choose(named: Option<String>) -> Result<Self, ChoiceError> {
        let Some(name) = named.filter(|name| !name.is_empty()) else {
            return Ok(Self::detect());
        };
        match Self::ALL.into_iter().find(|set| set.name() == name) {
            None => Err(ChoiceError::Unknown { name }),
            Some(set) if set.is_available() => Ok(set),
            Some(_) => Err(ChoiceError::Unavailable { name }),
        }
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512vl")
                    && std::is_x86_feature_detected!("avx512vnni")
                    && std::is_x86_feature_detected!("avx512vpopcntdq")
            }
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => Self::Avx2.is_available() && std::is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::AvxVnni | Self::Avx2 => false,
            Self::Portable => true,
        }
    }

    /// Its name, as `mnemic status` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::AvxVnni => "avxvnni",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ChoiceError, InstructionSet};

    #[test]
    fn the_portable_one_is_always_there_and_the_first_is_chosen() {
        assert!(InstructionSet::available().any(|set| set == InstructionSet::Portable));
        assert_eq!(InstructionSet::available().next(), Some(InstructionSet::detect()));
        assert_eq!(InstructionSet::choose(None), Ok(InstructionSet::detect()));
        assert_eq!(InstructionSet::choose(Some(String::new())), Ok(InstructionSet::detect()));
    }

    #[test]
    fn each_one_can_be_forced_by_its_name_where_the_processor_has_it() {
        for set in InstructionSet::ALL {
            let name = set.name().to_owned();
            let expected =
                if set.is_available() { Ok(set) } else { Err(ChoiceError::Unavailable { name: name.clone() }) };
            assert_eq!(InstructionSet::choose(Some(name)), expected);
        }
    }

    #[test]
    fn a_name_that_is_none_is_refused_with_those_that_would_do() {
        let error = InstructionSet::choose(Some("mmx".to_owned()));
        assert_eq!(error, Err(ChoiceError::Unknown { name: "mmx".to_owned() }));
        let words = error.map_err(|error| error.to_string()).err().unwrap_or_default();
        assert!(words.starts_with("MNEMIC_INSTRUCTIONS is \"mmx\", which is no instruction set; "), "{words}");
        assert!(words.ends_with("portable"), "{words}");
    }
}
