// Reads sales.csv, adds up each region, writes a compressed report. Uses yaml.v3.
package main

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"log"
	"os"
	"sort"
	"strconv"

	"gopkg.in/yaml.v3"
)

func totals(sales io.Reader) (map[string]float64, error) {
	rows, err := csv.NewReader(sales).ReadAll()
	if err != nil {
		return nil, err
	}
	found := map[string]float64{}
	for _, row := range rows[1:] {
		amount, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return nil, err
		}
		found[row[0]] += amount
	}
	return found, nil
}

func main() {
	log.SetFlags(0)
	sales, err := os.Open("sales.csv")
	if err != nil {
		log.Fatal(err)
	}
	defer sales.Close()
	found, err := totals(sales)
	if err != nil {
		log.Fatal(err)
	}
	regions := make([]string, 0, len(found))
	for region := range found {
		regions = append(regions, region)
	}
	sort.Strings(regions)

	file, err := os.Create("report-go.yaml.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	report := gzip.NewWriter(file)
	defer report.Close()
	if err := yaml.NewEncoder(report).Encode(found); err != nil {
		log.Fatal(err)
	}
	for _, region := range regions {
		fmt.Printf("%s %.2f\n", region, found[region])
	}
}
