# Reads sales.csv, adds up each region, writes a page. Uses the gem mustache.
require 'csv'
require 'mustache'

class Page < Mustache
  self.template = "<ul>{{#regions}}<li>{{name}}: {{total}}</li>{{/regions}}</ul>\n"
end

totals = Hash.new(0.0)
CSV.foreach('sales.csv', headers: true) { |row| totals[row['region']] += row['amount'].to_f }
regions = totals.sort.map { |name, total| { name: name, total: format('%.2f', total) } }
File.write('report-ruby.html', Page.render(regions: regions))
regions.each { |region| puts "#{region[:name]} #{region[:total]}" }
