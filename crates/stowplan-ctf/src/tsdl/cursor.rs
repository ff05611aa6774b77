//! Reading tokens one after another, and the attribute lists that TSDL is full of.

use super::lexer::Token;
use crate::error::{MetadataError, Place};

/// How deep blocks and types may nest: far beyond real traces, and little enough
/// that recursion is safe.
const DEEPEST: u32 = 64;

pub(super) struct Cursor {
    tokens: Vec<(Token, Place)>,
    at: usize,
    depth: u32,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Int(i128),
    Text(String),
    /// Words joined by dots, for example `clock.monotonic.value`.
    Path(Vec<String>),
}

/// `name = value;`
pub(super) struct Attribute {
    /// Words joined by dots.
    pub name: String,
    pub value: Value,
    pub place: Place,
}

impl Cursor {
    /// `tokens` ends with [`Token::End`].
    pub fn new(tokens: Vec<(Token, Place)>) -> Self {
        Self {
            tokens,
            at: 0,
            depth: 0,
        }
    }

    pub fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.at + ahead)
            .map_or(&Token::End, |(token, _)| token)
    }

    pub fn place(&self) -> Place {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens
            .get(self.at.min(last))
            .map_or(Place::START, |(_, place)| *place)
    }

    pub fn next(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    pub fn fault(&self, message: impl Into<String>) -> MetadataError {
        MetadataError::new(self.place(), message)
    }

    pub fn expected(&self, what: &str) -> MetadataError {
        self.fault(format!("expected {what}, found {}", self.peek().shown()))
    }

    pub fn at_mark(&self, mark: &str) -> bool {
        matches!(self.peek(), Token::Mark(found) if *found == mark)
    }

    pub fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if found == word)
    }

    pub fn take_mark(&mut self, mark: &str) -> bool {
        let found = self.at_mark(mark);
        self.at += usize::from(found);
        found
    }

    pub fn expect_mark(&mut self, mark: &str) -> Result<(), MetadataError> {
        if self.take_mark(mark) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{mark}`")))
        }
    }

    pub fn word(&mut self, what: &str) -> Result<String, MetadataError> {
        match self.peek() {
            Token::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Runs `inner` one level deeper.
    pub fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, MetadataError>,
    ) -> Result<T, MetadataError> {
        self.enter()?;
        let result = inner(self);
        self.leave();
        result
    }

    pub fn enter(&mut self) -> Result<(), MetadataError> {
        if self.depth == DEEPEST {
            return Err(self.fault(format!("nested deeper than {DEEPEST} levels")));
        }
        self.depth += 1;
        Ok(())
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Words joined by dots.
    pub fn path(&mut self, what: &str) -> Result<Vec<String>, MetadataError> {
        let mut path = vec![self.word(what)?];
        while self.at_mark(".") || self.at_mark("->") {
            self.at += 1;
            path.push(self.word("a name after the dot")?);
        }
        Ok(path)
    }

    pub fn int(&mut self) -> Result<i128, MetadataError> {
        let negative = self.take_mark("-");
        if !negative {
            self.take_mark("+");
        }
        match self.peek() {
            Token::Number(number) => {
                let number = i128::from(*number);
                self.at += 1;
                Ok(if negative { -number } else { number })
            }
            // A character constant, as enumerations may use.
            Token::Text(text) if text.chars().count() == 1 => {
                let number = text.chars().next().map_or(0, |c| i128::from(u32::from(c)));
                self.at += 1;
                Ok(number)
            }
            _ => Err(self.expected("a number")),
        }
    }

    pub fn value(&mut self) -> Result<Value, MetadataError> {
        match self.peek() {
            Token::Text(text) => {
                let mut text = text.clone();
                self.at += 1;
                // Texts side by side are one text, as in C.
                while let Token::Text(more) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                Ok(Value::Text(text))
            }
            Token::Word(_) => self.path("a value").map(Value::Path),
            _ => self.int().map(Value::Int),
        }
    }

    /// `= value;` after the name of an attribute.
    pub fn attribute_value(&mut self) -> Result<Value, MetadataError> {
        self.expect_mark("=")?;
        let value = self.value()?;
        self.expect_mark(";")?;
        Ok(value)
    }

    /// `{ name = value; … }`
    pub fn attributes(&mut self) -> Result<Vec<Attribute>, MetadataError> {
        self.expect_mark("{")?;
        let mut attributes = Vec::new();
        while !self.take_mark("}") {
            let place = self.place();
            let name = self.path("an attribute or `}`")?.join(".");
            let value = self.attribute_value()?;
            attributes.push(Attribute { name, value, place });
        }
        Ok(attributes)
    }
}

impl Attribute {
    pub fn fault(&self, message: impl Into<String>) -> MetadataError {
        MetadataError::new(self.place, message)
    }

    /// The value as a number of the asked type.
    pub fn number<T: TryFrom<i128>>(&self) -> Result<T, MetadataError> {
        let Value::Int(value) = self.value else {
            return Err(self.fault(format!("`{}` must be a number", self.name)));
        };
        T::try_from(value).map_err(|_| self.fault(format!("`{}` cannot be {value}", self.name)))
    }

    /// The value as text, whether it was quoted or not.
    pub fn text(&self) -> Result<String, MetadataError> {
        match &self.value {
            Value::Text(text) => Ok(text.clone()),
            Value::Path(path) => Ok(path.join(".")),
            Value::Int(_) => Err(self.fault(format!("`{}` must be a text", self.name))),
        }
    }

    pub fn truth(&self) -> Result<bool, MetadataError> {
        let word = match &self.value {
            Value::Int(value) => return Ok(*value != 0),
            Value::Text(word) => word.clone(),
            Value::Path(path) => path.join("."),
        };
        match word.as_str() {
            "true" | "TRUE" => Ok(true),
            "false" | "FALSE" => Ok(false),
            _ => Err(self.fault(format!("`{}` must be true or false", self.name))),
        }
    }
}
