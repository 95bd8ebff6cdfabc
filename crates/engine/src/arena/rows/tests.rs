use super::*;

fn row(bytes: usize, number: u32) -> Vec<u8> {
    (0..bytes).map(|i| (number as usize * 131 + i * 7 + (number as usize >> 8)) as u8).collect()
}

#[test]
fn rows_read_back_across_chunks_and_start_on_cache_lines() {
    for bytes in [1, 12, 64, 68, 1536, 3136, RowArena::MAX_ROW_BYTES] {
        let count = (9 << 20) / (bytes as u32).max(64) + 3;
        let mut arena = RowArena::new(bytes);
        for number in 0..count {
            assert_eq!(arena.push(&row(bytes, number)), number);
        }
        let table = arena.table();
        assert_eq!(table.len(), count);
        for number in (0..count).step_by(97).chain([count - 1]) {
            assert_eq!(table.row(number), row(bytes, number), "{bytes} bytes");
            assert_eq!(table.row(number).as_ptr().align_offset(LINE_BYTES), 0);
        }
    }
}

#[test]
fn ten_rows_cost_kilobytes() {
    let mut arena = RowArena::new(1536);
    for number in 0..10 {
        arena.push(&row(1536, number));
    }
    assert!(arena.memory_bytes() <= 32 << 10, "{} bytes", arena.memory_bytes());
}

#[test]
fn a_table_keeps_its_rows_while_the_arena_grows_and_is_dropped() {
    let mut arena = RowArena::new(8);
    let mut tables = Vec::new();
    for number in 0..5000 {
        if number % 251 == 0 {
            tables.push(arena.table());
        }
        arena.push(&row(8, number));
    }
    drop(arena);
    for table in tables {
        assert!((0..table.len()).all(|number| table.row(number) == row(8, number)));
    }
}

#[test]
fn truncating_below_a_table_leaves_the_table_as_it_was() {
    let mut arena = RowArena::new(1200);
    let count = 10_000;
    for number in 0..count {
        arena.push(&row(1200, number));
    }
    let before = arena.table();
    for len in [9_999, 4096, 4095, 5, 0] {
        arena.truncate(len);
        assert_eq!(arena.push(&row(1200, 77_777)), len);
        let after = arena.table();
        assert!((0..len).step_by(61).all(|number| after.row(number) == row(1200, number)));
        assert_eq!(after.row(len), row(1200, 77_777));
        assert!((0..count).step_by(61).chain([len]).all(|number| before.row(number) == row(1200, number)));
    }
}

#[test]
fn truncating_unread_rows_reuses_their_places() {
    let mut arena = RowArena::new(4);
    arena.push(&row(4, 0));
    let table = arena.table();
    arena.push(&row(4, 1));
    arena.truncate(1);
    arena.push(&row(4, 2));
    assert_eq!(arena.table().row(0).as_ptr(), table.row(0).as_ptr());
    assert_eq!(arena.table().row(1), row(4, 2));
}

#[test]
fn reading_beyond_a_table_panics() {
    let mut arena = RowArena::new(4);
    let empty = arena.table();
    arena.push(&row(4, 0));
    assert!(std::panic::catch_unwind(|| empty.row(0).len()).is_err());
    let table = arena.table();
    assert!(std::panic::catch_unwind(|| table.row(1).len()).is_err());
}

#[test]
fn readers_see_whole_rows_while_the_writer_appends() {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<RowTable>(4);
    let reader = std::thread::spawn(move || {
        for table in receiver {
            let last = table.len() - 1;
            assert_eq!(table.row(last), row(64, last));
            assert_eq!(table.row(last / 2), row(64, last / 2));
        }
    });
    let mut arena = RowArena::new(64);
    for number in 0..20_000 {
        arena.push(&row(64, number));
        if number % 16 == 0 {
            sender.send(arena.table()).expect("the reader lives");
        }
    }
    drop(sender);
    reader.join().expect("the reader saw whole rows");
}

/// A map of the rows of a chunk, `offset` bytes of something else before them.
fn map_of(table: &RowTable, chunk: u32, offset: usize) -> Map {
    let mut bytes = vec![0xee; offset];
    for number in chunk * table.chunk_rows()..(chunk + 1) * table.chunk_rows() {
        bytes.extend_from_slice(table.row(number));
    }
    Map::of_bytes(bytes)
}

fn filled(bytes: usize, chunks: u32, more: u32) -> RowArena {
    let mut arena = RowArena::new(bytes);
    for number in 0..chunks * arena.chunk_rows() + more {
        arena.push(&row(bytes, number));
    }
    arena
}

fn assert_whole(table: &RowTable, bytes: usize) {
    for number in (0..table.len()).step_by(59) {
        assert_eq!(table.row(number), row(bytes, number));
    }
}

#[test]
fn sealed_chunks_read_as_before_and_give_their_memory_back() {
    // A length that is no multiple of a line, so that rows lie closer in the map than in memory.
    let mut arena = filled(1500, 2, 7);
    let before = arena.table();
    let memory = arena.memory_bytes();
    for chunk in [1, 0] {
        let map = map_of(&before, chunk, 64);
        arena.seal(chunk, map, 64);
    }
    assert!(memory - arena.memory_bytes() >= 2 * 1500 * arena.chunk_rows() as usize);
    assert_eq!(arena.mapped_bytes(), 2 * 1500 * arena.chunk_rows() as usize);
    assert_eq!((before.memory_bytes(), before.mapped_bytes()), (memory, 0));
    let number = arena.push(&row(1500, before.len()));
    let after = arena.table();
    assert_eq!(number + 1, after.len());
    assert_whole(&before, 1500);
    assert_whole(&after, 1500);
    assert!(!after.is_memory(0) && after.holds(0) && after.is_memory(number));
}

#[test]
fn an_arena_of_mapped_chunks_grows_in_memory() {
    let source = filled(3072, 2, 0).table();
    let mut arena = RowArena::new(3072);
    for chunk in 0..2 {
        arena.push_mapped(map_of(&source, chunk, 0), 0);
    }
    assert_eq!((arena.len(), arena.memory_bytes()), (source.len(), 0));
    for number in arena.len()..arena.len() + 100 {
        arena.push(&row(3072, number));
    }
    assert_whole(&arena.table(), 3072);
}

#[test]
fn truncating_into_a_mapped_chunk_moves_what_stays_to_memory() {
    let mut arena = filled(1500, 2, 3);
    let table = arena.table();
    arena.seal(0, map_of(&table, 0, 0), 0);
    arena.seal(1, map_of(&table, 1, 0), 0);
    for len in [arena.chunk_rows() + 5, arena.chunk_rows(), arena.chunk_rows() - 1, 1] {
        arena.truncate(len);
        assert_eq!(arena.push(&row(1500, len)), len);
        assert_whole(&arena.table(), 1500);
    }
    assert_whole(&table, 1500);
}

#[test]
fn a_released_chunk_is_gone_for_later_tables_only() {
    let mut arena = filled(1500, 3, 3);
    let before = arena.table();
    arena.release(1);
    let after = arena.table();
    let rows = arena.chunk_rows();
    assert_whole(&before, 1500);
    assert_eq!(after.len(), before.len());
    for number in [0, rows - 1, 2 * rows, after.len() - 1] {
        assert!(after.holds(number));
        assert_eq!(after.row(number), row(1500, number));
    }
    for number in [rows, 2 * rows - 1] {
        assert!(!after.holds(number) && before.holds(number));
        assert!(std::panic::catch_unwind(|| after.row(number).len()).is_err());
    }
    assert!(after.memory_bytes() < before.memory_bytes());
    arena.push(&row(1500, before.len()));
    assert_eq!(arena.row(before.len()), row(1500, before.len()));
}

#[test]
fn chunks_that_are_not_full_and_maps_that_are_too_short_are_refused() {
    let failed =
        |act: fn(&mut RowArena)| std::panic::catch_unwind(|| act(&mut filled(64_000, 1, 3))).is_err();
    assert!(failed(|arena| arena.release(1)));
    assert!(failed(|arena| arena.seal(1, Map::of_bytes(vec![0; 64_000 << 10]), 0)));
    assert!(failed(|arena| arena.seal(0, Map::of_bytes(vec![0; 63_999]), 0)));
    assert!(failed(|arena| arena.seal(0, map_of(&arena.table(), 0, 0), 1)));
    assert!(failed(|arena| arena.seal(0, Map::of_bytes(Vec::new()), u64::MAX)));
    assert!(failed(|arena| arena.push_mapped(map_of(&arena.table(), 0, 0), 0)), "after half a chunk");
    assert!(!failed(|arena| arena.seal(0, map_of(&arena.table(), 0, 0), 0)));
}

#[test]
fn readers_see_whole_rows_while_chunks_are_sealed_and_released() {
    const BYTES: usize = 20_000;
    let (sender, receiver) = std::sync::mpsc::sync_channel::<(RowTable, u32)>(2);
    let reader = std::thread::spawn(move || {
        let mut old = Vec::new();
        for (table, first) in receiver {
            for number in (first..table.len()).step_by(37) {
                assert_eq!(table.row(number), row(BYTES, number));
            }
            old.push((table, first));
            // Some tables are held on to, across seals and releases of their chunks.
            if old.len() > 5 {
                let (table, first) = old.remove(old.len() % 3);
                assert!((first..table.len()).all(|n| table.row(n)[..9] == row(BYTES, n)[..9]));
            }
        }
    });
    let mut arena = RowArena::new(BYTES);
    let (mut sealed, mut released) = (0, 0);
    for number in 0..arena.chunk_rows() * 6 {
        arena.push(&row(BYTES, number));
        if number % 41 == 0 {
            let full = arena.len() / arena.chunk_rows();
            if sealed < full {
                arena.seal(sealed, map_of(&arena.table(), sealed, 3), 3);
                sealed += 1;
            } else if released + 2 < full {
                arena.release(released);
                released += 1;
            }
            sender.send((arena.table(), released * arena.chunk_rows())).expect("the reader lives");
        }
    }
    drop(sender);
    reader.join().expect("the reader saw whole rows");
    assert!(released >= 3);
}
