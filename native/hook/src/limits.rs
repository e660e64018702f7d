//! What a host's limits may do to its hook, and what the hook may leave behind: set once, at its start.

/// The largest core that may be: Linux refuses 1 where cores are piped to a program and takes no notice of 0 there
/// (core(5)); where they are files, both are less than it writes.
const CORE_BYTES: libc::rlim_t = 1;

/// From now on a write beyond the size that a file may have here is an error, as on a full disk, and no death.
pub fn survive_file_size() {
    // SAFETY: a plain system call, before there is any thread; nothing runs when the signal comes.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Have the system write no core file of this process, nor of those it starts: it would hold what was said.
///
/// The hard limit stays, so that whoever looks for a fault can allow cores. A limit that cannot be set leaves the event
/// to be kept all the same.
pub fn disable_core_dumps() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls on a structure of this function's own.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_CORE, &mut limit) == 0 {
            limit.rlim_cur = CORE_BYTES.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_CORE, &limit);
        }
    }
}
