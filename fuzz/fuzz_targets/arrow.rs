#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kithdb_engine::fuzzing::arrow(bytes));
