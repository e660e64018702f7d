//! The hook that an assistant's host runs for each event: the host's bytes go sealed into a mind's spool.
//!
//! The crate knows the public half of a key and so cannot read what it wrote. `src/main.rs` above only reads the
//! command line and exits with 0; `docs/spool.md` says what each byte means and what is promised. The reader
//! is `runtime/spool/`.

#![deny(missing_docs)]

pub mod ask;
pub mod command;
pub mod folder;
pub mod frame;
pub mod hook;
pub mod input;
pub mod json;
pub mod limits;
pub mod losses;
pub mod mind;
pub mod programs;
pub mod quiet;
pub mod record;
pub mod routing;
pub mod seal;
pub mod spool;
