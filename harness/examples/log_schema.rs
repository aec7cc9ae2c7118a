//! Prints the JSON Schema of a line of the event log. `cargo xtask schema` writes it to
//! `docs/log.schema.json`.

fn main() {
    let schema = clmatrix_harness::log::schema();
    println!("{}", serde_json::to_string_pretty(&schema).expect("a schema is plain data"));
}
