#!/bin/sh
# Builds main.cpp into the folder that is named.
set -e
${CXX:-c++} -std=c++20 -O2 $(pkg-config --cflags chevron) main.cpp -o "$1/consumer" $(pkg-config --libs chevron)
