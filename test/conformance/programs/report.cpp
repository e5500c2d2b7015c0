// Reads sales.csv, adds up each region, writes a report.
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

static std::map<std::string, double> totals(std::istream &sales) {
  std::map<std::string, double> found;
  std::string line, region, amount;
  std::getline(sales, line);
  while (std::getline(sales, line)) {
    std::istringstream fields(line);
    if (std::getline(fields, region, ',') && std::getline(fields, amount)) found[region] += std::stod(amount);
  }
  return found;
}

int main() {
  std::ifstream sales("sales.csv");
  if (!sales) throw std::runtime_error("sales.csv cannot be opened");
  std::ofstream report("report-cpp.txt");
  for (const auto &[region, total] : totals(sales)) {
    for (std::ostream *out : {static_cast<std::ostream *>(&report), static_cast<std::ostream *>(&std::cout)})
      *out << region << ' ' << std::fixed << std::setprecision(2) << total << '\n';
  }
}
