//! Each command `clmatrix` of the pages is one that the binary takes, and `docs/guide/questions.md` has commands.

use std::fs;
use std::process::Command;

use super::links::targets;
use super::{cells, files, names, root};

/// Returns the error of a command line that begins with `clmatrix`, if its words are not those of a command.
fn mistake(line: &str) -> Option<String> {
    let is_word = |word: &String| !["#", "|", ">", ">>", "--"].contains(&word.as_str());
    let words = shell_words::split(line).expect("words of a shell");
    let words = words.into_iter().skip(1).take_while(is_word);
    let output = Command::new(env!("CARGO_BIN_EXE_clmatrix"))
        .args(words)
        // Nothing runs, but all words before are read.
        .arg("--help")
        .output()
        .expect("it starts");
    let error = || format!("{line}: {}", String::from_utf8_lossy(&output.stderr));
    (!output.status.success()).then(error)
}

#[test]
fn the_commands_in_blocks_are_taken() {
    let mut commands = 0;
    let mut wrong = Vec::new();
    for path in files(root(), &["md"]) {
        let page = fs::read_to_string(path).expect("pages are text");
        for line in page.lines().filter_map(|line| line.strip_prefix("$ ")) {
            if line.starts_with("clmatrix ") {
                commands += 1;
                wrong.extend(mistake(line));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands > 20, "{commands} commands");
}

#[test]
fn the_questions_have_answers_on_their_pages() {
    let guide = root().join("docs/guide");
    let read = |name: &str| fs::read_to_string(guide.join(name)).expect("the page exists");
    let mut questions = 0;
    let mut wrong = Vec::new();
    for row in read("questions.md").lines().filter(|line| line.contains("? |")) {
        questions += 1;
        let [_, answer, link] = cells(row)[..] else { panic!("a row has three cells: {row}") };
        let answer = names(answer).next().expect("an answer is code");
        if answer.starts_with("clmatrix ") {
            wrong.extend(mistake(answer));
        }
        let (page, _) = targets(link)[0].split_once('#').expect("a link leads to a heading");
        let option = answer.split(' ').find(|word| word.starts_with("--")).unwrap_or(answer);
        if !read(page).contains(option) {
            wrong.push(format!("{page} does not have {option}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(questions >= 20, "{questions} questions");
}
