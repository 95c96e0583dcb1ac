#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| redis_rank::fuzz::schema(bytes));
