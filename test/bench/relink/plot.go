package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A curve of the plot.
type curve struct{ linker, scenario, color string }

var curves = []curve{
	{plain, cold, "#d62728"},
	{best, cold, "#ff7f0e"},
	{exact, cold, "#9467bd"},
	{fast, cold, "#1f77b4"},
	{fast, "a library", "#17becf"},
	{fast, "a leaf", "#2ca02c"},
	{fast, unchanged, "#8c8c8c"},
}

// The plot's area in the picture, and the range of seconds that it shows.
const (
	left, right, top, bottom = 60, 480, 20, 360
	fewest, most             = 0.01, 100.0
)

// plot draws seconds over modules, both on logarithmic scales.
func (all results) plot() string {
	sizes := all.sizes()
	if len(sizes) < 2 {
		return ""
	}
	span := math.Log(float64(sizes[len(sizes)-1]) / float64(sizes[0]))
	x := func(modules int) float64 {
		return left + (right-left)*math.Log(float64(modules)/float64(sizes[0]))/span
	}
	y := func(seconds float64) float64 {
		return bottom - (bottom-top)*math.Log(seconds/fewest)/math.Log(most/fewest)
	}
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 410" font-family="sans-serif" font-size="12">
<style>text { fill: #222 } .grid { stroke: #ccc } @media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #444 } }</style>
`)
	for seconds := fewest; seconds <= most*1.01; seconds *= 10 {
		fmt.Fprintf(&b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left, right, y(seconds),
			y(seconds))
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g s</text>\n", left-6, y(seconds)+
			4, math.Round(seconds*100)/100)
	}
	for _, n := range sizes {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x(n), bottom+18, n)
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">modules</text>\n", (left+right)/2, bottom+38)
	for i, c := range curves {
		var points []string
		for _, n := range sizes {
			if seconds := all.of(strconv.Itoa(n), c.linker, c.scenario).Wall; !math.IsNaN(seconds) {
				points = append(points, fmt.Sprintf("%.1f,%.1f", x(n), y(seconds)))
				fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x(n), y(seconds), c.color)
			}
		}
		fmt.Fprintf(&b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
			strings.Join(points, " "), c.color)
		at := top + 14 + 20*i
		fmt.Fprintf(&b, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"3\"/>\n", right+16,
			right+36, at-4, at-4, c.color)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\">%s: %s</text>\n", right+42, at, c.linker, c.scenario)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
