// Table prints the tables of docs/scale.md from the record of a link:
//
//	go run ./test/tools/scale/table [-trip 1ms] [-rate 100] [-overhead 11ms] RECORD
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/warpld/warpld/test/tools/scale"
)

func main() {
	trip := flag.Duration("trip", time.Millisecond, "time of a question and its answer")
	rate := flag.Float64("rate", 100, "transfers of a client, in megabytes a second")
	overhead := flag.Duration("overhead", 11*time.Millisecond, "what an execution costs beside its work")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	trace, err := scale.ReadTrace(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("| workers | time of a link | steps done there | workers busy |\n|---|---|---|---|")
	for _, workers := range []int{0, 1, 2, 4, 8, 16, 32, 64, 1000} {
		p := scale.Predict(trace, scale.Cluster{Workers: workers, Here: 2, HereCores: 2, Trip: *trip, Overhead: *overhead,
			Rate: *rate * 1e6})
		busy := 0.0
		if workers > 0 {
			busy = p.Busy.Seconds() / p.Wall.Seconds() / float64(workers)
		}
		fmt.Printf("| %d | %.2f s | %d | %.0f %% |\n", workers, p.Wall.Seconds(), p.There, 100*busy)
	}
	fmt.Println("\n| run again | processors | requests of the action cache | transfers | kept a day " +
		"|\n|---|---|---|---|---|")
	for _, again := range []float64{1, 0.5, 0.2, 0.05, 0} {
		d := scale.Load(trace, scale.Day{Links: 1e6, Again: again, Peak: 3})
		fmt.Printf("| %.0f %% | %.0f | %.0f/s | %.0f MB/s | %.1f TB |\n", 100*again, d.Processors, d.Requests,
			d.Transfers/1e6, d.Kept/1e12)
	}
}
