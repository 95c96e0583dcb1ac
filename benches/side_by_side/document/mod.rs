pub fn write(_: &std::path::Path, _: &crate::results::Results) -> Result<(), String> { Ok(()) }
