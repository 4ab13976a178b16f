//! The little statistics that a measured rate needs.

/// The 95 % Wilson interval of a rate of which `hits` of `trials` were seen.
pub fn wilson(hits: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    const Z: f64 = 1.959_963_984_540_054;
    let n = trials as f64;
    let p = hits as f64 / n;
    let centre = p + Z * Z / (2.0 * n);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    let low = if hits == 0 { 0.0 } else { ((centre - spread) / scale).max(0.0) };
    let high = if hits == trials { 1.0 } else { ((centre + spread) / scale).min(1.0) };
    (low, high)
}

/// The mean of measured values and their standard deviation (of a sample; 0 for a single one).
pub fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// How probable it is to see a count at least as far from its mean as this one, on the same
/// side, doubled for both sides. The count is a sum of many rare independent events with this
/// mean and variance: nearly Poisson when they are few, nearly normal when they are many.
pub fn surprise(seen: u64, mean: f64, variance: f64) -> f64 {
    if mean <= 0.0 {
        return if seen == 0 { 1.0 } else { 0.0 };
    }
    let one_side = if mean > 10_000.0 {
        let z = ((seen as f64 - mean).abs() - 0.5).max(0.0) / variance.max(f64::MIN_POSITIVE).sqrt();
        normal_tail(z)
    } else {
        poisson_tail(seen, mean)
    };
    (2.0 * one_side).min(1.0)
}

/// P(Z ≥ z), by its continued fraction where that converges fast, else by the series.
fn normal_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z > 3.0 {
        let mut fraction = z;
        for i in (1..=60).rev() {
            fraction = z + f64::from(i) / fraction;
        }
        density / fraction
    } else {
        let (mut term, mut sum) = (z, z);
        for i in 1..100 {
            term *= z * z / f64::from(2 * i + 1);
            sum += term;
        }
        0.5 - density * sum
    }
}

/// P(X ≥ seen) above the mean, P(X ≤ seen) below it.
fn poisson_tail(seen: u64, mean: f64) -> f64 {
    let x = seen as f64;
    let mut term = (x * mean.ln() - mean - ln_factorial(seen)).exp();
    let mut sum = term;
    let mut i = x;
    if x >= mean {
        while term > sum * 1e-17 {
            i += 1.0;
            term *= mean / i;
            sum += term;
        }
    } else {
        while i > 0.0 && term > sum * 1e-17 {
            term *= i / mean;
            i -= 1.0;
            sum += term;
        }
    }
    sum.min(1.0)
}

fn ln_factorial(n: u64) -> f64 {
    if n < 20 {
        return (2..=n).map(|i| (i as f64).ln()).sum();
    }
    let x = n as f64;
    x * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI * x).ln() + 1.0 / (12.0 * x)
        - 1.0 / (360.0 * x.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-3 * b.abs()
    }

    #[test]
    fn the_wilson_interval_is_the_published_one() {
        let (low, high) = wilson(10, 100);
        assert!(close(low, 0.05523) && close(high, 0.17437), "{low} {high}");
        let (low, high) = wilson(0, 1000);
        assert!(low == 0.0 && close(high, 0.003827), "{high}");
        assert_eq!(wilson(0, 0), (0.0, 1.0));
        assert_eq!(wilson(5, 5).1, 1.0);
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let (mean, deviation) = mean_and_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert!(mean == 5.0 && close(deviation, 2.13809), "{deviation}");
        assert_eq!(mean_and_deviation(&[3.0]), (3.0, 0.0));
    }

    #[test]
    fn tails_are_those_of_the_tables() {
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158655),
            (1.96, 0.0249979),
            (3.0, 0.0013499),
            (4.8916, 5.0e-7),
            (6.0, 9.8659e-10),
        ] {
            assert!(close(normal_tail(z), tail), "{z}: {}", normal_tail(z));
        }
        assert!(close(poisson_tail(10, 5.0), 0.031828));
        assert!(close(poisson_tail(1, 5.0), 0.040428));
    }

    #[test]
    fn only_what_is_far_off_surprises() {
        assert!(surprise(12_600, 12_600.0, 12_474.0) > 0.9);
        assert!(surprise(13_300, 12_600.0, 12_474.0) < 1e-6);
        assert!(surprise(11_900, 12_600.0, 12_474.0) < 1e-6);
        assert!(surprise(0, 3.0, 3.0) > 0.05);
        assert!(surprise(30, 3.0, 3.0) < 1e-6);
        assert!(surprise(1, 0.0, 0.0) == 0.0 && surprise(0, 0.0, 0.0) == 1.0);
    }
}
