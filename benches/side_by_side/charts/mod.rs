pub fn draw(_: &std::path::Path, _: &crate::results::Results) -> Result<(), String> { Ok(()) }
