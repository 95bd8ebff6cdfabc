use super::*;
use crate::storage::SimDisk;
use crate::storage::header::BODY_HEADER_BYTES;
use crate::types::OperationId;

fn file(lsn: u64) -> CatalogFile {
    CatalogFile { lsn: Lsn::new(lsn), next_id: 7, ..CatalogFile::default() }
}

fn spoil(disk: &SimDisk, path: &str, at: usize) {
    disk.decay(path, |bytes| bytes[at] ^= 1).expect("the file is there");
}

#[test]
fn the_copy_replaces_a_file_that_cannot_be_used_and_both_are_to_be_written_again() {
    let disk = SimDisk::new();
    file(5).store(&disk).expect("a disk that works");
    let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound"));
    assert!(found.file.lsn == Lsn::new(5) && found.fault.is_none() && found.stale.is_none());
    spoil(&disk, COPY_PATH, 20);
    let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the file is sound"));
    assert_eq!(found.fault, Some((COPY_PATH, "the file CATALOG is damaged".to_string())));
    assert_eq!(found.stale, Some(COPY_DIR));
    file(6).store(&disk).expect("a disk that works");
    for (lost, what) in [(false, "the file CATALOG is damaged"), (true, "the file CATALOG is missing")] {
        if lost {
            disk.remove(PATH).expect("it is there");
        } else {
            spoil(&disk, PATH, 20);
        }
        let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
        assert_eq!((found.file.lsn, found.fault), (Lsn::new(6), Some((PATH, what.to_string()))));
    }
    spoil(&disk, COPY_PATH, 20);
    let lost = NoCatalog::Lost("the file CATALOG is damaged".to_string());
    assert_eq!(CatalogFile::load(&disk).err(), Some(lost));
}

#[test]
fn a_file_without_a_generation_is_what_it_was_and_each_version_has_a_body_of_its_own_c3_8() {
    let mut operations = RecentOperations::default();
    operations.note(OperationId::new(3), 4);
    let without =
        [(false, 0), (true, 0), (false, 9), (true, u64::MAX)].map(|(has_operations, generation)| {
            let operations = if has_operations { operations.clone() } else { RecentOperations::default() };
            CatalogFile { operations, auth_generation: generation, ..file(5) }
        });
    let aliases = vec![(3, "a".to_string()), (1, "ünï c".to_string())];
    let with = without.each_ref().map(|one| CatalogFile { aliases: aliases.clone(), ..one.clone() });
    let kinds: Vec<CatalogFile> = without.into_iter().chain(with).collect();
    assert_eq!(kinds.iter().map(CatalogFile::version).collect::<Vec<_>>(), [1, 2, 3, 3, 4, 4, 4, 4]);
    for kind in &kinds {
        let disk = SimDisk::new();
        kind.store(&disk).expect("a disk that works");
        let read = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound")).file;
        assert_eq!((read.auth_generation, read.encode()), (kind.auth_generation, kind.encode()));
        assert_eq!(read.aliases, kind.aliases);
        assert_eq!(noted_auth_generation(&disk).ok(), Some(kind.auth_generation));
        for version in 1..=4 {
            disk.decay(PATH, |bytes| bytes[8] = version).expect("the file is there");
            let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
            assert_eq!(found.fault.is_none(), u32::from(version) == kind.version());
        }
    }
    // No release wrote a generation of 0, or a half one.
    let whole = kinds[2].encode();
    let without = &whole[..whole.len() - 8];
    assert!(CatalogFile::decode(&[without, &[0; 8]].concat()).is_none());
    assert!((0..8).all(|cut| CatalogFile::decode(&whole[..whole.len() - 8 + cut]).is_none()));
    let whole = kinds[7].encode();
    let names = encode_aliases(aliases.iter().map(|(id, alias)| (*id, alias.as_str()))).len();
    assert!((1..names).all(|cut| CatalogFile::decode(&whole[..whole.len() - cut]).is_none_or(|file| {
        // Cut behind the first alias.
        file.aliases.len() == 1
    })));
}

#[test]
fn a_copy_with_another_generation_is_to_be_written_again_c3_8() {
    let disk = SimDisk::new();
    file(5).store(&disk).expect("a disk that works");
    CatalogFile { auth_generation: 2, ..file(5) }.store_in(&disk, COPY_DIR).expect("a disk that works");
    let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound"));
    assert_eq!((found.file.auth_generation, found.stale), (0, Some(COPY_DIR)));
}

/// What a later release may write: another body, with the right checksum.
fn write_later(disk: &SimDisk, path: &str) {
    let later = |bytes: &mut Vec<u8>| {
        bytes[8] = 9;
        bytes.truncate(BODY_HEADER_BYTES + 5);
        let crc = crc32c::crc32c(&bytes[BODY_HEADER_BYTES..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    };
    disk.decay(path, later).expect("the file is there");
}

#[test]
fn a_later_format_is_refused_and_a_changed_version_number_alone_is_damage() {
    let disk = SimDisk::new();
    file(5).store(&disk).expect("a disk that works");
    spoil(&disk, PATH, 9);
    let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
    assert!(found.fault.is_some_and(|(path, what)| path == PATH && what.contains("the body of version 1")));
    file(5).store(&disk).expect("a disk that works");
    write_later(&disk, PATH);
    let refused = CatalogFile::load(&disk).err();
    assert!(matches!(refused, Some(NoCatalog::Refused(why)) if why.contains("format version 9")));
    write_later(&disk, COPY_PATH);
    assert!(matches!(CatalogFile::load(&disk).err(), Some(NoCatalog::Refused(_))));
    // A later release that ended after it had written the copy and before it wrote the file.
    file(5).store(&disk).expect("a disk that works");
    write_later(&disk, COPY_PATH);
    assert!(
        CatalogFile::load(&disk).is_ok_and(|found| found.fault.is_some() && found.stale == Some(COPY_DIR))
    );
}

#[test]
fn a_catalog_with_string_ids_has_a_version_and_a_body_of_its_own_c21() {
    let mut config = CollectionConfig::with_fields(Vec::new());
    config.ids = IdKind::String;
    let entries = vec![(1, "c".to_string(), Arc::new(config))];
    let mut operations = RecentOperations::default();
    operations.note(OperationId::new(3), 4);
    let bare = CatalogFile { entries, ..file(5) };
    let kinds = [
        bare.clone(),
        CatalogFile { operations, ..bare.clone() },
        CatalogFile { auth_generation: 9, ..bare.clone() },
        CatalogFile { aliases: vec![(1, "a".to_string())], ..bare },
    ];
    for kind in kinds {
        let disk = SimDisk::new();
        kind.store(&disk).expect("a disk that works");
        let read = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("both are sound")).file;
        assert_eq!((kind.version(), read.encode()), (5, kind.encode()));
        assert_eq!(read.entries[0].2.ids, IdKind::String);
        for version in 1..=5 {
            disk.decay(PATH, |bytes| bytes[8] = version).expect("the file is there");
            let found = CatalogFile::load(&disk).unwrap_or_else(|_| panic!("the copy is sound"));
            assert_eq!(found.fault.is_none(), version == 5);
        }
    }
}
