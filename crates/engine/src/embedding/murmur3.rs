//! MurmurHash3 of 32 bits, the x86 variant, by Austin Appleby (SMHasher, `MurmurHash3.cpp`).

const BLOCK_BYTES: usize = size_of::<u32>();

/// The hash of some bytes with the seed 0.
pub(super) fn murmur3_32(bytes: &[u8]) -> u32 {
    let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
    let mut hash = blocks.iter().fold(0u32, |hash, block| {
        let mixed = hash ^ scrambled(u32::from_le_bytes(*block));
        mixed.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !rest.is_empty() {
        let mut last = [0; BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        hash ^= scrambled(u32::from_le_bytes(last));
    }
    // The length modulo 2^32 is part of the hash.
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn scrambled(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}
