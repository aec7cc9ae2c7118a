//! Curves as SVG.

use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::curve::Curve;

/// The size of the picture and of its margins, in pixels.
const SIZE: (u32, u32) = (800, 450);
const MARGIN: u32 = 15;
const LEFT: u32 = 80;
const BELOW: u32 = 45;

/// Colours that are readable on white (Okabe and Ito).
const BLUE: RGBColor = RGBColor(0, 114, 178);

type Drawn<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Returns the medians as a line, with the range of each middle half.
pub fn text(curve: &Curve, title: &str) -> Drawn<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let (first, last) = curve.span();
        if curve.is_log {
            on(&area, curve, title, (first..last).log_scale().base(2.0))
        } else {
            on(&area, curve, title, first..last)
        }
        .map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn on<X>(
    area: &DrawingArea<SVGBackend, Shift>,
    curve: &Curve,
    title: &str,
    x: X,
) -> Result<(), Box<dyn Error>>
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    /// The width of an error bar, in pixels.
    const BAR: u32 = 6;
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(MARGIN)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(x, 0.0..curve.top() * 1.1)?;
    let (x_unit, y_unit) = (curve.x.unit, curve.y.unit);
    chart
        .configure_mesh()
        .x_desc(curve.x.name.as_str())
        .y_desc(curve.y.name.as_str())
        .x_label_formatter(&|x| x_unit.write(*x))
        .y_label_formatter(&|y| y_unit.write(*y))
        .max_light_lines(0)
        .draw()?;
    let line = curve.points.iter().map(|point| (point.x, point.median));
    chart.draw_series(LineSeries::new(line, BLUE.stroke_width(2)))?;
    chart.draw_series(curve.points.iter().map(|point| {
        ErrorBar::new_vertical(point.x, point.low, point.median, point.high, BLUE.filled(), BAR)
    }))?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::curve::tests::local_memory;
    use super::*;

    #[test]
    fn a_curve_is_well_formed_and_labelled() {
        let mut series = local_memory();
        for is_log in [true, false] {
            let curve = Curve::from_series(&series).unwrap();
            assert_eq!(curve.is_log, is_log);
            let text = text(&curve, "banks <of> local memory").unwrap();
            for part in ["stride", "time per access", "banks &lt;of&gt;", " ns\n", "<polyline"] {
                assert!(text.contains(part), "{part:?} is in {text}");
            }
            let mut reader = quick_xml::Reader::from_str(&text);
            while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
            series.points[0].x = 0.0;
        }
    }
}
