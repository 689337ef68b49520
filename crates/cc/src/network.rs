//! A small network of layers: each is the tanh of a weighted sum. The arithmetic is that of `libm`, so it gives the same
//! bits on every machine.

/// First word of a network's text, with the version of the form.
const HEAD: [&str; 2] = ["network", "1"];
/// Largest number of weights.
pub const MOST_WEIGHTS: usize = 100_000;

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Numbers of values: the inputs, then those of each layer.
    sizes: Vec<usize>,
    /// For each value of each layer in order: the weights of the layer before, then the bias.
    weights: Vec<f64>,
    /// Memory of two layers.
    values: [Vec<f64>; 2],
}

impl Network {
    /// Reads a network of `inputs` inputs: the words `network 1`, the number of layers, the sizes from the inputs to the
    /// outputs, and the weights, all separated by white space.
    ///
    /// # Errors
    /// The reason why the text is none.
    pub fn read(text: &str, inputs: usize, outputs: &[usize]) -> Result<Self, String> {
        let mut words = text.split_ascii_whitespace();
        for head in HEAD {
            if words.next() != Some(head) {
                return Err(format!("does not begin with '{}'", HEAD.join(" ")));
            }
        }
        let mut count = |what: &str| {
            let word = words.next().unwrap_or("the end");
            word.parse()
                .ok()
                .filter(|count| (1..=1000).contains(count))
                .ok_or_else(|| format!("'{word}' is not {what}"))
        };
        let layers: usize = count("a number of layers from 1 to 1000")?;
        let sizes =
            (0..=layers).map(|_| count("a number of values from 1 to 1000")).collect::<Result<Vec<usize>, _>>()?;
        if sizes[0] != inputs || !outputs.contains(&sizes[layers]) {
            let (i, o) = (sizes[0], sizes[layers]);
            return Err(format!("has {i} inputs and {o} outputs; it must have {inputs} inputs and one or two outputs"));
        }
        let needed: usize = sizes.windows(2).map(|pair| (pair[0] + 1) * pair[1]).sum();
        if needed > MOST_WEIGHTS {
            return Err(format!("has {needed} weights; at most {MOST_WEIGHTS} are allowed"));
        }
        let number = |word: &str| word.parse().ok().filter(|x: &f64| x.is_finite());
        let weights = words
            .map(|word| number(word).ok_or_else(|| format!("'{word}' is not a weight")))
            .collect::<Result<Vec<f64>, _>>()?;
        if weights.len() != needed {
            return Err(format!("has {} weights; its layers need {needed}", weights.len()));
        }
        Ok(Self { sizes, weights, values: [Vec::new(), Vec::new()] })
    }

    /// Number of outputs.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// The outputs, each from −1 to 1. The sums are taken from the first weight to the last, and then the bias is added.
    pub fn evaluate(&mut self, inputs: &[f64]) -> &[f64] {
        let Self { sizes, weights, values: [now, next] } = self;
        now.clear();
        now.extend_from_slice(inputs);
        let mut rest = weights.as_slice();
        for pair in sizes.windows(2) {
            let (layer, others) = rest.split_at((pair[0] + 1) * pair[1]);
            rest = others;
            next.clear();
            next.extend(layer.chunks_exact(pair[0] + 1).map(|row| {
                let sum = row.iter().zip(now.iter()).fold(0.0, |sum, (weight, value)| sum + weight * value);
                libm::tanh(sum + row[pair[0]])
            }));
            std::mem::swap(now, next);
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_the_tanh_of_weighted_sums() {
        let text = "network 1  2  2 2 1  1 0 0.5  0 -1 0  2 3 0.25";
        let mut network = Network::read(text, 2, &[1, 2]).expect("it is one");
        let hidden = [libm::tanh(0.3 + 0.5), libm::tanh(-0.7)];
        let expected = libm::tanh(2.0 * hidden[0] + 3.0 * hidden[1] + 0.25);
        assert_eq!(network.evaluate(&[0.3, 0.7]), [expected]);
        assert_eq!(network.evaluate(&[0.3, 0.7]), [expected], "a second time");
    }

    #[test]
    fn what_is_no_network_is_refused_with_the_reason() {
        for (text, message) in [
            ("trained", "does not begin with 'network 1'"),
            ("network 1", "'the end' is not a number of layers from 1 to 1000"),
            ("network 1 1 2 0", "'0' is not a number of values from 1 to 1000"),
            ("network 1 1 3 1", "has 3 inputs and 1 outputs; it must have 2 inputs and one or two outputs"),
            ("network 1 1 2 1 1 2", "has 2 weights; its layers need 3"),
            ("network 1 1 2 1 1 2 inf", "'inf' is not a weight"),
            ("network 1 2 2 1000 1000", "has 2 inputs and 1000 outputs; it must have 2 inputs and one or two outputs"),
            ("network 1 3 2 1000 1000 1", "has 1005001 weights; at most 100000 are allowed"),
        ] {
            let got = Network::read(text, 2, &[1, 2]).map(drop);
            assert_eq!(got, Err(message.to_owned()), "{text}");
        }
    }
}
