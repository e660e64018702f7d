//! `mnemic-hook ASSISTANT EVENT [--ask] --home HOME [--mind NAME]`; see `docs/spool.md`. It exits with 0, whatever happens.

use std::panic;
use std::process::exit;

use mnemic_hook::command::Command;
use mnemic_hook::{hook, limits};

fn main() {
    // Instead of a message that the host would show, and of the signal that follows it.
    panic::set_hook(Box::new(|_| {
        hook::lost(0).ok();
        exit(0);
    }));
    limits::survive_file_size();
    limits::disable_core_dumps();
    hook::run(Command::parse(std::env::args_os().skip(1))).ok();
    exit(0);
}
