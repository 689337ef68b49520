//! Formulas of a user: arithmetic over a few named numbers, read once and evaluated with every ACK.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = factor { ("*" | "/") factor }
//! factor  = "-" factor | number | variable | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```

/// Largest number of operations in a formula.
pub const MOST_OPERATIONS: usize = 256;
/// Largest number of intermediate values.
const MOST_VALUES: usize = 32;

/// Functions by name, each with the number of its arguments.
pub const FUNCTIONS: [(&str, usize); 7] =
    [("min", 2), ("max", 2), ("abs", 1), ("sqrt", 1), ("cbrt", 1), ("log", 1), ("exp", 1)];

/// An operation on a stack of values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Number(f64),
    Variable(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Function(usize),
}

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    operations: Vec<Operation>,
}

impl Formula {
    /// Reads a formula over `variables`.
    ///
    /// # Errors
    /// The reason why the text is none.
    pub fn read(text: &str, variables: &[&str]) -> Result<Self, String> {
        let mut reader = Reader { rest: text, variables, operations: Vec::new(), values: 0, nested: 0 };
        reader.sum()?;
        match reader.rest.trim_start().chars().next() {
            None => Ok(Self { operations: reader.operations }),
            Some(other) => Err(format!("'{other}' is not expected here; write for example 0.5 * ({})", variables[0])),
        }
    }

    /// Value of the formula, which may be infinite or NaN. `variables` are in the order in which [`Formula::read`] named them.
    #[must_use]
    pub fn value(&self, variables: &[f64]) -> f64 {
        let mut stack = [0.0_f64; MOST_VALUES];
        let mut top = 0;
        for operation in &self.operations {
            let (taken, value) = match *operation {
                Operation::Number(x) => (0, x),
                Operation::Variable(i) => (0, variables[i]),
                Operation::Negate => (1, -stack[top - 1]),
                Operation::Add => (2, stack[top - 2] + stack[top - 1]),
                Operation::Subtract => (2, stack[top - 2] - stack[top - 1]),
                Operation::Multiply => (2, stack[top - 2] * stack[top - 1]),
                Operation::Divide => (2, stack[top - 2] / stack[top - 1]),
                Operation::Function(f) => call(f, &stack[..top]),
            };
            top -= taken;
            stack[top] = value;
            top += 1;
        }
        stack[0]
    }
}

/// Number of arguments that a function takes from the stack, and its value.
fn call(function: usize, stack: &[f64]) -> (usize, f64) {
    let x = stack[stack.len() - 1];
    let other = || stack[stack.len() - 2];
    match FUNCTIONS[function].0 {
        "min" => (2, other().min(x)),
        "max" => (2, other().max(x)),
        "abs" => (1, x.abs()),
        "sqrt" => (1, libm::sqrt(x)),
        "cbrt" => (1, libm::cbrt(x)),
        "log" => (1, libm::log(x)),
        _ => (1, libm::exp(x)),
    }
}

/// Largest depth of brackets and signs.
const MOST_NESTED: usize = 64;

struct Reader<'a> {
    rest: &'a str,
    variables: &'a [&'a str],
    operations: Vec<Operation>,
    /// Values on the stack after the operations so far.
    values: usize,
    nested: usize,
}

impl Reader<'_> {
    fn add(&mut self, operation: Operation, taken: usize) -> Result<(), String> {
        self.operations.push(operation);
        self.values = self.values + 1 - taken;
        if self.operations.len() > MOST_OPERATIONS || self.values > MOST_VALUES {
            return Err(format!("is too long: at most {MOST_OPERATIONS} operations and {MOST_VALUES} values at once"));
        }
        Ok(())
    }

    /// Takes one of these signs, if it comes next.
    fn sign(&mut self, signs: &[char]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let found = self.rest.chars().next().filter(|next| signs.contains(next))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        self.sign(&[sign]).map(drop).ok_or_else(|| format!("'{sign}' is missing before '{}'", shown(self.rest)))
    }

    fn sum(&mut self) -> Result<(), String> {
        self.product()?;
        while let Some(sign) = self.sign(&['+', '-']) {
            self.product()?;
            self.add(if sign == '+' { Operation::Add } else { Operation::Subtract }, 2)?;
        }
        Ok(())
    }

    fn product(&mut self) -> Result<(), String> {
        self.factor()?;
        while let Some(sign) = self.sign(&['*', '/']) {
            self.factor()?;
            self.add(if sign == '*' { Operation::Multiply } else { Operation::Divide }, 2)?;
        }
        Ok(())
    }

    fn factor(&mut self) -> Result<(), String> {
        self.nested += 1;
        if self.nested > MOST_NESTED {
            return Err(format!("is nested too deeply: at most {MOST_NESTED} levels"));
        }
        if self.sign(&['-']).is_some() {
            self.factor()?;
            self.add(Operation::Negate, 1)?;
        } else if self.sign(&['(']).is_some() {
            self.sum()?;
            self.expect(')')?;
        } else {
            self.named_or_number()?;
        }
        self.nested -= 1;
        Ok(())
    }

    fn named_or_number(&mut self) -> Result<(), String> {
        let word = self.word();
        if word.is_empty() {
            return Err(format!("a number, a variable or a function is missing before '{}'", shown(self.rest)));
        }
        if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            let number: f64 = word.parse().map_err(|_| format!("'{word}' is not a number"))?;
            return self.add(Operation::Number(number), 0);
        }
        if let Some(place) = self.variables.iter().position(|name| *name == word) {
            return self.add(Operation::Variable(place), 0);
        }
        let Some(function) = FUNCTIONS.iter().position(|(name, _)| *name == word) else {
            let functions = FUNCTIONS.map(|(name, _)| name).join(", ");
            return Err(format!(
                "'{word}' is unknown; variables: {}; functions: {functions}",
                self.variables.join(", ")
            ));
        };
        self.expect('(')?;
        let arguments = FUNCTIONS[function].1;
        for i in 0..arguments {
            if i > 0 {
                self.expect(',')?;
            }
            self.sum()?;
        }
        self.expect(')')?;
        self.add(Operation::Function(function), arguments)
    }

    /// Takes the next name or number; the sign of an exponent belongs to the number.
    fn word(&mut self) -> String {
        self.rest = self.rest.trim_start();
        let is_number = self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let mut end = 0;
        for (i, c) in self.rest.char_indices() {
            let exponent = is_number && matches!(c, '+' | '-') && self.rest[..i].ends_with(['e', 'E']);
            if !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.') || exponent) {
                break;
            }
            end = i + c.len_utf8();
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.to_owned()
    }
}

/// The beginning of the rest, for messages.
fn shown(rest: &str) -> String {
    let rest = rest.trim_start();
    if rest.is_empty() { "the end".to_owned() } else { rest.chars().take(12).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["w", "t"];

    fn value(text: &str) -> f64 {
        Formula::read(text, NAMES).expect("it is a formula").value(&[8.0, 3.0])
    }

    #[test]
    fn products_bind_more_than_sums_and_both_go_from_left_to_right() {
        for (text, expected) in [
            ("1 + 2*w", 17.0),
            ("w - t - 1", 4.0),
            ("w / 2 / 2", 2.0),
            ("-w + 2", -6.0),
            ("2 * -t", -6.0),
            ("(1 + 2) * w", 24.0),
            ("1.5e+1 - 5e-1", 14.5),
            ("min(w, t) + max(w, t)", 11.0),
            ("cbrt(w) + sqrt(4) + abs(-1)", 5.0),
            ("log(exp(t))", 3.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text} = {}", value(text));
        }
        assert_eq!(value("w / (t - 3)"), f64::INFINITY);
    }

    #[test]
    fn what_is_no_formula_is_refused_with_the_reason() {
        for (text, message) in [
            ("", "a number, a variable or a function is missing before 'the end'"),
            ("w +", "a number, a variable or a function is missing before 'the end'"),
            ("w t", "'t' is not expected here; write for example 0.5 * (w)"),
            ("v", "'v' is unknown; variables: w, t; functions: min, max, abs, sqrt, cbrt, log, exp"),
            ("min(w)", "',' is missing before ')'"),
            ("(w", "')' is missing before 'the end'"),
            ("1.2.3", "'1.2.3' is not a number"),
        ] {
            assert_eq!(Formula::read(text, NAMES), Err(message.to_owned()), "{text}");
        }
        let long = format!("w{}", " + w".repeat(MOST_OPERATIONS));
        assert!(Formula::read(&long, NAMES).is_err_and(|why| why.starts_with("is too long")));
        let deep = format!("{}w{}", "(".repeat(100), ")".repeat(100));
        assert!(Formula::read(&deep, NAMES).is_err_and(|why| why.starts_with("is nested too deeply")));
        let wide = format!("{}w{}", "1 + (".repeat(40), ")".repeat(40));
        assert!(Formula::read(&wide, NAMES).is_err_and(|why| why.starts_with("is too long")));
    }
}
