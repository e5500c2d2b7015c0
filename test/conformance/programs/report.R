# Reads sales.csv, adds up each region, writes JSON and a plot. Uses the package jsonlite.
library(jsonlite)

sales <- read.csv("sales.csv")
totals <- aggregate(amount ~ region, sales, sum)
totals <- totals[order(totals$region), ]
writeLines(toJSON(totals), "report-r.json")
pdf("report-r.pdf")
barplot(totals$amount, names.arg = totals$region)
invisible(dev.off())
cat(sprintf("%s %.2f\n", totals$region, totals$amount), sep = "")
