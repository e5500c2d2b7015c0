# Reads sales.csv, adds up each region, writes JSON. Uses awk and jq.
set -euo pipefail

totals() {
  awk -F, 'NR > 1 { total[$1] += $2 } END { for (region in total) printf "%s %.2f\n", region, total[region] }' "$1" | sort
}

report=$(totals sales.csv)
jq -Rn '[inputs | split(" ") | {region: .[0], amount: (.[1] | tonumber)}]' <<<"$report" >report-bash.json
echo "$report"
