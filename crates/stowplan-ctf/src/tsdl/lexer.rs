//! The words of TSDL, with their places.

use crate::error::{MetadataError, Place};

/// A word of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// An identifier or keyword.
    Word(String),
    /// An integer, unsigned: a sign is a token of its own.
    Number(u64),
    /// A quoted text, without its quotes and escapes.
    Text(String),
    /// Punctuation, one or more characters.
    Mark(&'static str),
    /// Nothing more.
    End,
}

impl Token {
    /// The token as an error message names it.
    pub fn shown(&self) -> String {
        match self {
            Self::Word(word) => format!("`{word}`"),
            Self::Number(number) => format!("`{number}`"),
            Self::Text(text) => format!("{text:?}"),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end of the text".into(),
        }
    }
}

/// Longest first, because each is matched as a prefix.
const MARKS: [&str; 20] = [
    "...", ":=", "->", "{", "}", "[", "]", "(", ")", "<", ">", ";", ":", ",", ".", "=", "-", "+",
    "*", "?",
];

/// Splits the text into words; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Place)>, MetadataError> {
    let mut lexer = Lexer {
        text,
        at: 0,
        place: Place::START,
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let place = lexer.place;
        let token = lexer.token()?;
        let last = token == Token::End;
        tokens.push((token, place));
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    place: Place,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Goes on by whole characters, so that `at` stays between two.
    fn advance(&mut self, bytes: usize) {
        for byte in self.text[self.at..self.at + bytes].bytes() {
            if byte == b'\n' {
                self.place.line = self.place.line.saturating_add(1);
                self.place.column = 1;
            } else {
                self.place.column = self.place.column.saturating_add(1);
            }
        }
        self.at += bytes;
    }

    fn skip_blank(&mut self) -> Result<(), MetadataError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n', '\0']).len();
            if blank > 0 {
                self.advance(blank);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(MetadataError::new(self.place, "comment without end"));
                };
                self.advance(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token, MetadataError> {
        let rest = self.rest();
        match rest.chars().next() {
            None => Ok(Token::End),
            Some('"') => self.quoted(1, '"').map(Token::Text),
            Some('L') if rest.starts_with("L\"") => self.quoted(2, '"').map(Token::Text),
            Some('\'') => self.quoted(1, '\'').map(Token::Text),
            Some('0'..='9') => self.number(),
            Some(first) if is_word(first) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                self.advance(length);
                Ok(Token::Word(rest[..length].to_owned()))
            }
            Some(other) => {
                let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
                    return Err(MetadataError::new(
                        self.place,
                        format!("unexpected character {other:?}"),
                    ));
                };
                self.advance(mark.len());
                Ok(Token::Mark(mark))
            }
        }
    }

    fn number(&mut self) -> Result<Token, MetadataError> {
        let rest = self.rest();
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..length];
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let (digits, radix) = if let Some(hex) = digits
            .strip_prefix("0x")
            .or_else(|| digits.strip_prefix("0X"))
        {
            (hex, 16)
        } else if digits.len() > 1 && digits.starts_with('0') {
            (&digits[1..], 8)
        } else {
            (digits, 10)
        };
        let number = u64::from_str_radix(digits, radix).map_err(|error| {
            MetadataError::new(self.place, format!("`{word}` is not a number: {error}"))
        })?;
        self.advance(length);
        Ok(Token::Number(number))
    }

    fn quoted(&mut self, open: usize, close: char) -> Result<String, MetadataError> {
        let start = self.place;
        self.advance(open);
        let mut text = String::new();
        loop {
            let Some(character) = self.rest().chars().next() else {
                return Err(MetadataError::new(start, "text without closing quote"));
            };
            if character == '\n' {
                return Err(MetadataError::new(start, "text without closing quote"));
            }
            self.advance(character.len_utf8());
            if character == close {
                return Ok(text);
            }
            if character == '\\' {
                text.push(self.escape()?);
            } else {
                text.push(character);
            }
        }
    }

    fn escape(&mut self) -> Result<char, MetadataError> {
        let rest = self.rest();
        let wrong = MetadataError::new(self.place, "wrong escape in a text");
        let Some(first) = rest.chars().next() else {
            return Err(wrong);
        };
        let (length, character) = match first {
            'n' => (1, '\n'),
            't' => (1, '\t'),
            'r' => (1, '\r'),
            'a' => (1, '\u{7}'),
            'b' => (1, '\u{8}'),
            'f' => (1, '\u{c}'),
            'v' => (1, '\u{b}'),
            '\\' | '"' | '\'' | '?' => (1, first),
            '0'..='7' => {
                let digits = leading(rest, 3, 8);
                (digits.len(), code(digits, 8).ok_or(wrong)?)
            }
            'x' => {
                let digits = leading(&rest[1..], 2, 16);
                (1 + digits.len(), code(digits, 16).ok_or(wrong)?)
            }
            _ => return Err(wrong),
        };
        self.advance(length);
        Ok(character)
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The digits at the front of `text`, at most `most`.
fn leading(text: &str, most: usize, radix: u32) -> &str {
    let length = text
        .chars()
        .take(most)
        .take_while(|c| c.is_digit(radix))
        .count();
    &text[..length]
}

fn code(digits: &str, radix: u32) -> Option<char> {
    u32::from_str_radix(digits, radix)
        .ok()
        .and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<Token> {
        tokens(text)
            .unwrap()
            .into_iter()
            .map(|(token, _)| token)
            .collect()
    }

    #[test]
    fn words_numbers_texts_and_marks() {
        use Token::*;
        assert_eq!(
            plain(r#"/* c */ a_1 := 0x1F 017 10UL "x\"\n\101" 0...3 // end"#),
            [
                Word("a_1".into()),
                Mark(":="),
                Number(31),
                Number(15),
                Number(10),
                Text("x\"\nA".into()),
                Number(0),
                Mark("..."),
                Number(3),
                End
            ]
        );
    }

    #[test]
    fn faults_have_their_place() {
        let error = tokens("a\n  \"b").unwrap_err();
        assert_eq!((error.line, error.column), (2, 3));
        assert_eq!(
            tokens("\n@").unwrap_err().to_string(),
            "2:1: unexpected character '@'"
        );
        assert!(tokens("/* a").is_err());
        assert!(tokens("99999999999999999999").is_err());
        assert!(tokens("\"\\xé\"").is_err());
    }
}
