//! The public items of this crate, compared with the list in `harness/surface.txt`.
//!
//! The list is made from the sources, which rustfmt has formatted: an item begins and ends at the margin. It
//! follows `pub mod` and `pub use`, also into the runner, and leaves `#[doc(hidden)]` out.

use std::fs;
use std::path::Path;

use regex::Regex;

/// The crate with the items that this one re-exports. A path that begins with its name is one of its modules.
const RUNNER: &str = "clmatrix_runner";

#[test]
fn the_public_items_are_those_of_the_list() {
    let mut found = Vec::new();
    list_module(&[], 0, &mut found);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("surface.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, found.join("\n") + "\n").unwrap();
    }
    let text = fs::read_to_string(&file).unwrap();
    let listed: Vec<&str> = text.lines().collect();
    let added: Vec<_> = found.iter().filter(|line| !listed.contains(&line.as_str())).collect();
    let removed: Vec<_> =
        listed.iter().filter(|line| !found.iter().any(|it| it == *line)).collect();
    assert!(
        found == listed,
        "the public items differ from {}\nadded: {added:#?}\nremoved: {removed:#?}\n\
         If that is meant: UPDATE_EXPECT=1 cargo test -p clmatrix-harness --test surface",
        file.display()
    );
}

/// An item of a module.
#[derive(Clone)]
struct Item {
    attributes: Vec<String>,
    /// Without comments.
    lines: Vec<String>,
}

impl Item {
    fn head(&self) -> &str {
        &self.lines[0]
    }

    fn is_hidden(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.contains("doc(hidden)"))
    }

    /// Returns whether this defines `name`.
    fn defines(&self, name: &str) -> bool {
        const KINDS: [&str; 10] =
            ["pub", "const", "async", "unsafe", "fn", "struct", "enum", "trait", "static", "type"];
        let is_public = self.head().starts_with("pub ");
        is_public && words(self.head()).find(|word| !KINDS.contains(word)) == Some(name)
    }

    /// The names that a `use` brings in, each with its path. A glob has the name `*`.
    fn imports(&self) -> Vec<(Vec<String>, String)> {
        let text = self.lines.iter().map(|line| line.trim()).collect::<String>();
        let Some((_, tree)) = text.split_once("use ") else { return Vec::new() };
        let tree = tree.trim_end_matches(';');
        let (path, names) = match tree.split_once('{') {
            Some((path, names)) => (path.trim_end_matches("::"), names.trim_end_matches('}')),
            None => tree.rsplit_once("::").unwrap_or(("", tree)),
        };
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(|name| (path.clone(), name.to_owned())).collect()
    }
}

/// Reads the items of a module.
fn items(module: &[String]) -> Option<Vec<Item>> {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (source, module) = match module {
        [name, module @ ..] if name == RUNNER => (harness.with_file_name("runner/src"), module),
        _ => (harness.join("src"), module),
    };
    let path = source.join(module.join("/"));
    let files = match module {
        [] => vec![source.join("lib.rs")],
        _ => vec![path.with_extension("rs"), path.join("mod.rs")],
    };
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok())?;
    let mut items = Vec::new();
    let mut item = Item { attributes: Vec::new(), lines: Vec::new() };
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let is_open = item.attributes.last().is_some_and(|attribute| !attribute.ends_with(']'));
        if item.lines.is_empty() && (is_open || line.starts_with("#[")) {
            item.attributes.push(line.to_owned());
        } else if !line.is_empty() && !line.starts_with("#!") {
            item.lines.push(line.to_owned());
            // The end of a value may be indented.
            let is_at_margin = !line.starts_with(' ') || has_value(item.head());
            if is_at_margin && line.ends_with([';', '}']) {
                let next = Item { attributes: Vec::new(), lines: Vec::new() };
                items.push(std::mem::replace(&mut item, next));
            }
        }
    }
    Some(items)
}

/// Adds the public items of a module to `list`.
fn list_module(module: &[String], depth: usize, list: &mut Vec<String>) {
    let own = items(module).expect("a file of the module");
    for item in own.iter().filter(|item| !item.is_hidden()) {
        let head = item.head();
        if item.attributes.iter().any(|attribute| attribute == "#[macro_export]") {
            push(depth, head.trim_end_matches(" {"), list);
        } else if let Some(name) = head.strip_prefix("pub mod ") {
            push(depth, head.trim_end_matches(';'), list);
            let child = [module, &[name.trim_end_matches(';').to_owned()]].concat();
            list_module(&child, depth + 1, list);
        } else if head.starts_with("pub use ") {
            for (path, name) in item.imports() {
                let is_public = own.iter().any(|it| it.head() == format!("pub mod {};", path[0]));
                let target = module_at(module, &path).filter(|_| !is_public);
                match target.and_then(|module| find(&module, &name)) {
                    Some((items, item)) => list_item(&item, &items, depth, list),
                    // It is of another crate, or in the list already.
                    None => push(depth, &format!("pub use {}::{name}", path.join("::")), list),
                }
            }
        } else if head.starts_with("pub ") {
            list_item(item, &own, depth, list);
        }
    }
}

/// Returns the module at a path in a `use` of `module`, unless it is of another crate.
fn module_at(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let path = match path[0].as_str() {
        "crate" => {
            [&module[..usize::from(module.first().is_some_and(|name| name == RUNNER))], &path[1..]]
                .concat()
        }
        RUNNER => path.to_vec(),
        "self" => [module, &path[1..]].concat(),
        _ => [module, path].concat(),
    };
    items(&path).map(|_| path)
}

/// Finds an item of a module, also behind `use`. Returns also the items of the file that defines it.
fn find(module: &[String], name: &str) -> Option<(Vec<Item>, Item)> {
    let own = items(module)?;
    if let Some(item) = own.iter().find(|item| item.defines(name)) {
        return Some((own.clone(), item.clone()));
    }
    let imports = own.iter().flat_map(Item::imports);
    let mut imports = imports.filter(|(_, imported)| imported == name || imported == "*");
    imports.find_map(|(path, _)| find(&module_at(module, &path)?, name))
}

/// Adds an item with its members. `own` are the items of its file, which has its implementations.
fn list_item(item: &Item, own: &[Item], depth: usize, list: &mut Vec<String>) {
    let derives = |attribute: &&String| attribute.starts_with("#[derive");
    item.attributes.iter().filter(derives).for_each(|line| push(depth, line, list));
    push(depth, &signature(&item.lines), list);
    let kind = Regex::new(r"^pub (unsafe )?(struct|enum|trait) (\w+)").unwrap();
    let Some(parts) = kind.captures(item.head()) else { return };
    let (kind, name) = (&parts[2], &parts[3]);
    let mut is_in_attribute = false;
    for line in item.lines.iter().skip(1).map(|line| line.trim()) {
        is_in_attribute |= line.starts_with("#[");
        let is_member = !is_in_attribute && (kind != "struct" || line.starts_with("pub "));
        is_in_attribute &= !line.ends_with(']');
        if is_member && !line.trim_matches(['}', ',']).is_empty() {
            push(depth + 1, line.trim_end_matches([',', '{', ' ']), list);
        }
    }
    let of_trait = Regex::new(&format!(r"^(unsafe )?impl.* for {name}\b")).unwrap();
    let inherent = Regex::new(&format!(r"^impl(<.*>)? {name}\b")).unwrap();
    for implementation in own {
        if of_trait.is_match(implementation.head()) {
            push(depth + 1, &signature(&implementation.lines), list);
        } else if inherent.is_match(implementation.head()) {
            list_functions(&implementation.lines, depth + 1, list);
        }
    }
}

/// Adds the public functions and constants of an implementation.
fn list_functions(lines: &[String], depth: usize, list: &mut Vec<String>) {
    let mut is_hidden = false;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("    #[") {
            is_hidden |= line.contains("doc(hidden)");
        } else if line.starts_with("    ") && !line.starts_with("     ") {
            if line.starts_with("    pub ") && !is_hidden {
                push(depth, &signature(&lines[at..]), list);
            }
            is_hidden = false;
        }
    }
}

/// The words of an item before its body or value, on one line.
fn signature(lines: &[String]) -> String {
    let mut words = Vec::new();
    for line in lines {
        words.push(line.trim());
        if line.ends_with(['{', ';', '}']) {
            break;
        }
    }
    let all = words.join(" ").replace("( ", "(").replace(", )", ")").replace(",)", ")");
    let end = if has_value(&all) { all.find(" = ") } else { all.find(" {") };
    all[..end.unwrap_or(all.len())].trim_end_matches(';').to_owned()
}

/// Returns whether an item that begins so is a constant or another name for something.
fn has_value(head: &str) -> bool {
    let mut words = words(head).filter(|word| !["pub", "crate", "super", "in"].contains(word));
    matches!(words.next(), Some("const" | "static" | "type")) && words.next() != Some("fn")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn push(depth: usize, line: &str, list: &mut Vec<String>) {
    list.push("    ".repeat(depth) + line);
}
