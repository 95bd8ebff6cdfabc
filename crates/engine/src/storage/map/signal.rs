//! Faults of the disk under a map.
//!
//! A page that the device does not give, or that lies beyond the end of a file that was cut, is a SIGBUS for the thread
//! that reads it. The handler marks the map, puts pages of zeros in the place of the rest of it, and lets the thread go
//! on. Whoever uses what was read asks [`map_faults`](super::map_faults) before.

use super::registry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

static INSTALLED: Once = Once::new();
/// What handled the signal before.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);

/// Bytes of a page of memory.
pub(super) fn page_bytes() -> usize {
    PAGE_BYTES.load(Ordering::Relaxed)
}

/// Installs the handler, once in a process.
pub(super) fn install() {
    INSTALLED.call_once(|| {
        // SAFETY: a query of the system.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        PAGE_BYTES.store(usize::try_from(page).unwrap_or(4096).max(1), Ordering::Relaxed);
        // SAFETY: all-zero bytes are a valid `sigaction`, which only has integers, and a mask that is empty that way.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut previous: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are to values of this frame; the handler keeps to what a handler may do.
        unsafe {
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut previous) != 0 {
                return;
            }
            // Known before the handler can run.
            let _ = PREVIOUS.set(previous);
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    });
}

/// The handler: atomics and system calls alone, since the thread may hold any lock.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes a valid `info` to a handler with SA_SIGINFO, and SIGBUS has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    if !registry::mark(address).is_some_and(|(start, len)| put_zeros(address, start + len)) {
        pass_on(signal, info, context);
    }
}

/// Puts zeros in the place of a registered map, from the page of `address` to `end`. The rest of the map as well, because
/// behind the end of a file that was cut every page faults, and the number of maps is limited.
fn put_zeros(address: usize, end: usize) -> bool {
    let page = page_bytes();
    let from = address / page * page;
    // SAFETY: the range is the end of a map that the thread of this handler reads, and so keeps. What is read of it from
    // here on is zeros and not what was written, which `map_faults` tells.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::with_exposed_provenance_mut(from),
            end - from,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// Does what would have been done without this handler.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(previous) = PREVIOUS.get() else { return };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: all-zero bytes are a valid `sigaction` and mean the default. When the handler returns, the access
            // is tried again, and ends the process.
            unsafe {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &default, std::ptr::null_mut());
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: with SA_SIGINFO the address is of a function of this type, which somebody installed as a handler.
            unsafe {
                let handler = std::ptr::with_exposed_provenance::<()>(handler);
                std::mem::transmute::<
                    *const (),
                    extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void),
                >(handler)(signal, info, context);
            }
        }
        handler => {
            // SAFETY: without SA_SIGINFO the address is of a function of this type.
            unsafe {
                let handler = std::ptr::with_exposed_provenance::<()>(handler);
                std::mem::transmute::<*const (), extern "C" fn(libc::c_int)>(handler)(signal);
            }
        }
    }
}
