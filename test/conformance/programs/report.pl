# Reads sales.csv, adds up each region, writes JSON. Uses the module Text::CSV.
use strict;
use warnings;
use JSON::PP;
use Text::CSV;

open my $sales, '<', 'sales.csv' or die "sales.csv: $!\n";
my $csv = Text::CSV->new({ binary => 1 });
$csv->header($sales);
my %totals;
while (my $row = $csv->getline_hr($sales)) {
    $totals{ $row->{region} } += $row->{amount};
}
close $sales;

open my $report, '>', 'report-perl.json' or die "report-perl.json: $!\n";
print $report JSON::PP->new->canonical->encode(\%totals), "\n";
close $report;
printf "%s %.2f\n", $_, $totals{$_} for sort keys %totals;
