//! What the system says of this process.

/// Bytes of memory that belong to no file, where the system tells.
#[cfg(target_os = "linux")]
pub fn anonymous_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    };
    Some(field("RssAnon:")? + field("RssShmem:").unwrap_or(0))
}

/// As above.
#[cfg(not(target_os = "linux"))]
pub fn anonymous_bytes() -> Option<u64> {
    None
}
