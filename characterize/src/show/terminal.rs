//! Curves in the terminal, as text.

use crate::measure::Unit;

use super::curve::Curve;

/// The columns and lines of the curve itself; one line is in the middle.
const WIDTH: usize = 64;
const HEIGHT: usize = 13;

/// Returns a curve below its title and between its axes, the lower of which is 0.
pub fn plot(name: &str, curve: &Curve) -> String {
    let top = curve.highest_median();
    let labels = [top, top / 2.0].map(|y| curve.y.unit.write(y));
    let margin = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(1);
    let mut text = format!("{name}: {}\n", curve.title());
    for (line, cells) in canvas(curve, top).iter().enumerate() {
        let label = match line {
            0 => &labels[0],
            line if line == HEIGHT / 2 => &labels[1],
            _ => "",
        };
        let cells: String = cells.iter().collect();
        text += format!("{label:>margin$} │{cells}").trim_end();
        text.push('\n');
    }
    text += &format!("{:>margin$} └{}\n", "0", "─".repeat(WIDTH));
    text += format!("{:margin$}  {}", "", x_labels(curve)).trim_end();
    text.push('\n');
    text
}

/// Draws the middle of the samples, and dots on the way from one to the next.
fn canvas(curve: &Curve, top: f64) -> Vec<[char; WIDTH]> {
    let mut canvas = vec![[' '; WIDTH]; HEIGHT];
    let line = |y: f64| {
        let share = (y / top).clamp(0.0, 1.0);
        HEIGHT - 1 - (share * (HEIGHT - 1) as f64).round() as usize
    };
    let medians = (0..WIDTH).map(|column| curve.median_at(column as f64 / (WIDTH - 1) as f64));
    for (column, median) in medians.enumerate() {
        canvas[line(median)][column] = '·';
    }
    for point in &curve.points {
        canvas[line(point.median)][column_of(curve, point.x)] = '●';
    }
    canvas
}

fn column_of(curve: &Curve, x: f64) -> usize {
    (curve.place(x).clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize
}

/// Returns the labels of the ticks, as many as fit, and the unit of the axis.
fn x_labels(curve: &Curve) -> String {
    let mut text = String::new();
    for tick in curve.ticks() {
        let column = column_of(curve, tick);
        let written = text.chars().count();
        if written == 0 || column >= written + 2 {
            text += &" ".repeat(column - written);
            text += &curve.x.unit.write(tick);
        }
    }
    match curve.x.unit {
        Unit::Count => format!("{text}  {}", curve.x.name),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::tests::local_memory;
    use super::*;

    #[test]
    fn a_curve_stands_between_its_axes() {
        let series = local_memory();
        let plot = plot("local_memory_bank_count", &Curve::from_series(&series).unwrap());
        let expected = "\
local_memory_bank_count: time per access over stride
46 ns │                                                              ·●
      │                                                           ···
      │                                                        ···
      │                                                     ···
      │                                                 ·●··
      │                                           ······
23 ns │                                    ··●····
      │                      ···●··········
      │●············●········
      │
      │
      │
      │
    0 └────────────────────────────────────────────────────────────────
       1            2           4            8           16           32  stride
";
        assert_eq!(plot, expected);
    }

    #[test]
    fn labels_do_not_run_into_each_other() {
        let mut series = local_memory();
        series.x.unit = Unit::Bytes;
        for (point, power) in series.points.iter_mut().zip([3, 14, 20, 25, 30, 38]) {
            point.x = f64::from(power).exp2();
        }
        let curve = Curve::from_series(&series).unwrap();
        let labels = x_labels(&curve);
        assert!(labels.starts_with("8 bytes  "), "{labels}");
        assert!(!labels.contains("  KiB") && labels.chars().count() < WIDTH + 10, "{labels}");
    }
}
