module utilitytools

go 1.22
