/** A chart of figures over time. uPlot draws it on a canvas; its newest and largest figures are text as well. */
import { useEffect, useRef } from 'preact/hooks'
import Plot from 'uplot'
import { rateText } from './formats.ts'
import type { Counts } from './live-figures.ts'
import { t } from './texts.ts'
import { useTheme } from './theme.ts'

/** A line of a chart. */
export type Line = { readonly name: string; readonly values: Counts }

const spanMinSeconds = 300
const palette = ['--line-1', '--line-2', '--line-3', '--line-4', '--line-5', '--line-6'] as const

/** Draws lines over `times`, in Unix seconds. `small`: without axes. `marks`: moments with a line across, in Unix seconds. */
export function Chart(props: {
  title: string
  times: readonly number[]
  lines: readonly Line[]
  small?: boolean
  marks?: readonly number[]
}) {
  const { title, times, lines, small = false, marks = [] } = props
  const marked = useRef(marks)
  marked.current = marks
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | undefined>(undefined)
  const theme = useTheme()
  const names = lines.map(({ name }) => name).join('\n')
  const data = [[...times], ...lines.map(({ values }) => values)] as Plot.AlignedData

  useEffect(() => {
    const element = place.current!
    const size = () => ({ width: element.clientWidth, height: small ? 56 : 220 })
    const made = new Plot(
      { ...size(), ...settings(element, names.split('\n'), small, marked) },
      data,
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize(size()))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [names, small, theme])
  useEffect(() => plot.current?.setData(data), [times.at(-1), times.length, names, marks.length])

  const all = lines.flatMap(({ values }) => values.filter((each) => each !== null))
  const summary = t.chartSummary(title, rateText(all.length === 0 ? null : Math.max(...all)), lines.length)
  return <div class={small ? 'chart small' : 'chart'} ref={place} role="img" aria-label={summary} />
}

function settings(
  element: HTMLElement,
  names: readonly string[],
  small: boolean,
  marked: { readonly current: readonly number[] },
): Omit<Plot.Options, 'width' | 'height'> {
  const colour = (name: string) => colourOf(element, name)
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 },
    font: '12px system-ui, sans-serif',
  }
  const drawMarks = (plot: Plot) => {
    const { ctx, bbox } = plot
    ctx.save()
    ctx.strokeStyle = colour('--soft')
    ctx.setLineDash([3, 3])
    for (const mark of marked.current) {
      const x = plot.valToPos(mark, 'x', true)
      if (x < bbox.left || x > bbox.left + bbox.width) continue
      ctx.beginPath()
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x, bbox.top + bbox.height)
      ctx.stroke()
    }
    ctx.restore()
  }
  const value = (_: Plot, raw: number | null) => rateText(raw)
  return {
    legend: { show: !small, live: true },
    ...(small ? {} : { hooks: { draw: [newestInLegend, drawMarks], setLegend: [newestInLegend] } }),
    cursor: { show: !small, drag: { x: false, y: false } },
    padding: small ? [4, 0, 4, 0] : [8, 20, 0, 0],
    scales: {
      // What is known, which is an hour at most: of a node that has just started it would be a line at the edge.
      x: { range: (plot, __, end) => [Math.min(knownFrom(plot), (end ?? 0) - spanMinSeconds), end ?? 0] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: small
      ? [{ show: false }, { show: false }]
      : [
          { ...axis, values: '{HH}:{mm}', incrs: [60, 300, 600, 900, 1800] },
          { ...axis, size: 56, values: (_, splits) => splits.map((each) => rateText(each)) },
        ],
    series: [
      { label: t.time, value: '{HH}:{mm}:{ss}' },
      ...names.map((label, index) => ({
        label,
        value,
        stroke: colour(palette[index % palette.length]!),
        width: 1.5,
        points: { show: false },
        spanGaps: false,
        ...(names.length === 1 ? { fill: colour('--line-1-fill') } : {}),
      })),
    ],
  }
}

/** From when on a line has a value, in Unix seconds. */
function knownFrom({ data: [times, ...lines] }: Plot): number {
  const first = lines.map((line) => line.findIndex((each) => each !== null)).filter((index) => index >= 0)
  return times[first.length === 0 ? times.length - 1 : Math.min(...first)] ?? 0
}

/** Without a pointer the legend tells the newest figures. */
function newestInLegend(plot: Plot): void {
  if (plot.cursor.idx != null) return
  const newest = plot.data.slice(1).map((line) => line.findLastIndex((each) => each !== null))
  plot.setLegend({ idx: Math.max(...newest, 0) }, false)
}

/** A canvas takes no variables: the colour that an element gets by one. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}
