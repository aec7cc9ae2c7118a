//! The plots, as SVG.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::speed::Figure;
use crate::waste::Replay;
use crate::workload::Workload;

/// Pixels.
const SIZE: (u32, u32) = (800, 450);
const MARGIN: u32 = 15;
const LEFT: u32 = 60;
const BELOW: u32 = 45;

const GIB: f64 = (1_u64 << 30) as f64;

/// Readable on white, and told apart by the colour-blind (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(100, 100, 100),
];

type Done = Result<(), Box<dyn Error>>;

struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Nanoseconds per pair against the number of threads.
pub fn threads(path: &Path, device: &str, figures: &[Figure]) -> Done {
    let line = |workload: Workload, who: &str, value: fn(&Figure) -> f64| Line {
        name: match workload {
            Workload::Hot => format!("{who}, one hot size"),
            Workload::Random => format!("{who}, random sizes"),
        },
        points: figures
            .iter()
            .filter(|figure| figure.workload == workload)
            .map(|figure| (figure.threads as f64, value(figure)))
            .collect(),
    };
    let lines = [
        line(Workload::Hot, "reference", Figure::reference),
        line(Workload::Random, "reference", Figure::reference),
        line(Workload::Hot, "clmatrix", Figure::ours),
        line(Workload::Random, "clmatrix", Figure::ours),
    ];
    let title = format!("ns per allocate + drop pair and thread ({device})");
    let most = figures.iter().map(|figure| figure.threads).max().unwrap_or(1);
    let axes = Axes { names: ["threads", "ns"], x: 1.0..most as f64, x_labels: most };
    // The figures are far apart.
    let y = (10.0..highest(&lines) * 2.0).log_scale();
    draw(path, &title, axes, y, SeriesLabelPosition::UpperLeft, &lines)
}

/// Reserved bytes over time.
pub fn reserved(path: &Path, device: &str, replays: &[Replay]) -> Done {
    let mut lines: Vec<_> = replays
        .iter()
        .map(|replay| Line {
            name: replay.name.to_owned(),
            points: replay
                .looks
                .iter()
                .map(|it| (it.step as f64, it.reserved as f64 / GIB))
                .collect(),
        })
        .collect();
    lines.extend(replays.first().map(|replay| Line {
        name: "in use".to_owned(),
        points: replay.looks.iter().map(|it| (it.step as f64, it.active as f64 / GIB)).collect(),
    }));
    let title = format!("reserved memory, random sizes, 1000 live ({device})");
    let last = lines[0].points.last().map_or(1.0, |(step, _)| *step);
    let axes = Axes { names: ["blocks allocated", "GiB"], x: 0.0..last, x_labels: 10 };
    let y = 0.0..highest(&lines) * 1.1;
    draw(path, &title, axes, y, SeriesLabelPosition::LowerRight, &lines)
}

fn highest(lines: &[Line]) -> f64 {
    let values = lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y);
    values.fold(1.0, f64::max)
}

struct Axes {
    names: [&'static str; 2],
    x: Range<f64>,
    x_labels: usize,
}

fn draw<Y>(
    path: &Path,
    title: &str,
    axes: Axes,
    y: Y,
    legend: SeriesLabelPosition,
    lines: &[Line],
) -> Done
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let Axes { names: [x_name, y_name], x, x_labels } = axes;
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(MARGIN)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(x, y)?;
    let mut mesh = chart.configure_mesh();
    let whole = |value: &f64| format!("{value:.0}");
    mesh.x_desc(x_name).y_desc(y_name).x_labels(x_labels).light_line_style(WHITE);
    mesh.x_label_formatter(&whole).y_label_formatter(&whole).draw()?;
    for (number, (line, colour)) in lines.iter().zip(COLOURS).enumerate() {
        // The first is seen below another that is the same.
        let style = colour.stroke_width(if number == 0 { 4 } else { 2 });
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style))?
            .label(line.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart.configure_series_labels().position(legend).background_style(WHITE.mix(0.8)).draw()?;
    area.present()?;
    Ok(())
}
