//! The plots, as SVG.

use std::error::Error;
use std::path::Path;

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
    draw(path, &title, ["threads", "ns"], 1.0, &lines)
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
    draw(path, &title, ["blocks allocated", "GiB"], 0.0, &lines)
}

fn draw(path: &Path, title: &str, [x, y]: [&str; 2], first: f64, lines: &[Line]) -> Done {
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().fold(first, |most, (x, _)| most.max(*x));
    let highest = points().fold(0.0, |most: f64, (_, y)| most.max(*y));
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(MARGIN)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(first..last, 0.0..highest * 1.1)?;
    chart.configure_mesh().x_desc(x).y_desc(y).light_line_style(WHITE).draw()?;
    for (line, colour) in lines.iter().zip(COLOURS) {
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style))?
            .label(line.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    let position = SeriesLabelPosition::UpperLeft;
    chart.configure_series_labels().position(position).background_style(WHITE.mix(0.8)).draw()?;
    area.present()?;
    Ok(())
}
