// Reads sales.csv, adds up each region, writes a compressed report.
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.zip.GZIPOutputStream;

record Sale(String region, double amount) {
    static Sale of(String line) {
        String[] fields = line.split(",");
        return new Sale(fields[0], Double.parseDouble(fields[1]));
    }
}

public class Report {
    public static void main(String[] arguments) throws IOException {
        Map<String, Double> totals;
        try (var lines = Files.lines(Path.of("sales.csv"))) {
            totals = lines.skip(1).map(Sale::of).collect(
                Collectors.groupingBy(Sale::region, TreeMap::new, Collectors.summingDouble(Sale::amount)));
        }
        try (var report = new PrintStream(new GZIPOutputStream(Files.newOutputStream(Path.of("report-java.txt.gz"))))) {
            totals.forEach((region, total) -> {
                String line = String.format(Locale.ROOT, "%s %.2f", region, total);
                report.println(line);
                System.out.println(line);
            });
        }
    }
}
